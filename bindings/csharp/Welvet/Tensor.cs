using System;

namespace Welvet
{
    /// <summary>Numbers with a shape, row-major: the last axis runs fastest.</summary>
    public sealed class Tensor
    {
        /// <summary>Creates a tensor over an array, which is not copied.</summary>
        /// <param name="values">The numbers.</param>
        /// <param name="shape">Extents, outermost first.</param>
        /// <exception cref="ArgumentException">The shape has another number of values, or a negative
        /// extent.</exception>
        public Tensor(float[] values, params int[] shape)
        {
            Values = values ?? throw new ArgumentNullException(nameof(values));
            Shape = shape ?? throw new ArgumentNullException(nameof(shape));
            long count = 1;
            foreach (int extent in shape)
            {
                if (extent < 0)
                    throw new ArgumentOutOfRangeException(nameof(shape), extent, "an extent of the shape is negative");
                count = checked(count * extent);
            }
            if (count != values.Length)
            {
                throw new ArgumentException("expected " + count + " values for the shape [" +
                    string.Join(", ", shape) + "], got " + values.Length, nameof(shape));
            }
        }

        /// <summary>The numbers, row-major.</summary>
        public float[] Values { get; }

        /// <summary>Extents, outermost first.</summary>
        public int[] Shape { get; }

        /// <summary>A number by its place, one index per axis.</summary>
        /// <param name="indices">The indices, from 0.</param>
        /// <exception cref="ArgumentException">There are more or fewer indices than axes.</exception>
        /// <exception cref="IndexOutOfRangeException">An index is outside its axis.</exception>
        public float this[params int[] indices]
        {
            get => Values[PlaceOf(indices)];
            set => Values[PlaceOf(indices)] = value;
        }

        /// <summary>Copies a table: samples first.</summary>
        /// <param name="table">The numbers.</param>
        public static implicit operator Tensor(float[,] table)
        {
            if (table == null) throw new ArgumentNullException(nameof(table));
            float[] values = new float[table.Length];
            Buffer.BlockCopy(table, 0, values, 0, values.Length * sizeof(float));
            return new Tensor(values, table.GetLength(0), table.GetLength(1));
        }

        private int PlaceOf(int[] indices)
        {
            if (indices.Length != Shape.Length)
                throw new ArgumentException("expected " + Shape.Length + " indices, got " + indices.Length);
            int place = 0;
            for (int i = 0; i < indices.Length; ++i)
            {
                if (indices[i] < 0 || indices[i] >= Shape[i])
                    throw new IndexOutOfRangeException("index " + indices[i] + " of axis " + i + " is outside 0 to " +
                        (Shape[i] - 1));
                place = place * Shape[i] + indices[i];
            }
            return place;
        }
    }
}
