// ONNX models: tensors in by name, tensors out.
import { LoomError, mismatch } from '../errors.js';
import { fieldsOf } from './library.js';
import { COMPUTE, computeOptions, read, whole } from './options.js';
import { Owner } from './owner.js';
import { ELEMENT_NAMES, ELEMENTS, given, tensorAt, tensorStruct } from './tensors.js';

const OPEN = { ...COMPUTE, maxBytes: (value, what) => whole(value, what, 1, Number.MAX_SAFE_INTEGER) };

export class Graph extends Owner {
  static type = 'Graph';

  /** Opens a source: a path, or bytes that hold every tensor. */
  static open(library, source, options) {
    const { maxBytes, ...compute } = read(options, OPEN, 'Graph.load()');
    return library.frame((frame) => {
      const values = frame.struct('graph_options', { max_bytes: maxBytes });
      let handle;
      if (source.path !== undefined) {
        handle = library.make('loom_graph_open', frame.text(source.path), values);
      } else {
        const { pointer, count } = frame.bytes(source.bytes);
        handle = library.make('loom_graph_from_memory', pointer, count, values);
      }
      const graph = new Graph(library, handle);
      graph.session = new Owner(
        library,
        library.make('loom_graph_session_create', handle, computeOptions(frame, compute)),
      );
      graph.facts = graph.json('loom_graph_info');
      return graph;
    });
  }

  info() {
    return this.facts;
  }

  /** Runs the graph: an object from input name to numbers, or the numbers of the only input. */
  forward(inputs) {
    const { inputs: declared, outputs } = this.facts;
    const isObject =
      typeof inputs === 'object' && inputs !== null && !Array.isArray(inputs) && !ArrayBuffer.isView(inputs);
    // An input may be called data; values with a shape have both.
    const isNamed = isObject && !(ArrayBuffer.isView(inputs.data) && Array.isArray(inputs.shape));
    if (!isNamed && declared.length !== 1)
      throw mismatch('inputs', `an object with the ${declared.length} inputs by name`, inputs);
    const named = isNamed ? inputs : { [declared[0].name]: inputs };
    return this.library.frame((frame) => {
      const session = this.session.handle;
      try {
        for (const [name, value] of Object.entries(named)) {
          const about = declared.find((each) => each.name === name);
          if (about === undefined) {
            const names = declared.map((each) => each.name);
            throw new LoomError(
              'UnknownKey',
              `the graph has no input ${JSON.stringify(name)}: expected ${names.join(', ')}`,
            );
          }
          const element = ELEMENT_NAMES[about.type] ?? 1;
          const tensor = given(value, name, ELEMENTS[element]);
          this.library.check(
            this.core.call('loom_graph_session_bind', session, frame.text(name), tensorStruct(frame, tensor, element)),
          );
        }
        this.library.check(this.core.call('loom_graph_session_run', session, 0n));
        return Object.fromEntries(
          outputs.map(({ name }) => {
            const out = frame.struct('tensor');
            this.library.check(this.core.call('loom_graph_session_output', session, frame.text(name), out));
            return [name, tensorAt(this.library, fieldsOf(this.library, 'tensor', out))];
          }),
        );
      } finally {
        this.library.check(this.core.call('loom_graph_session_unbind', session));
      }
    });
  }

  dispose() {
    this.session?.dispose();
    super.dispose();
  }
}
