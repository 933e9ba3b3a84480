// The driver of graphics cards for Loom in WebAssembly (loom_gpu.js). It needs the types of WebGPU (@webgpu/types).

/** Facts about a device for a worker; they can be posted. */
export interface Opened {
  readonly memory: SharedArrayBuffer;
  /** why there is no device */
  readonly problem?: string;
  readonly text?: string;
  readonly limits?: readonly number[];
}

export type Call = readonly [name: string, ...values: unknown[]];

/** The side of the device, on a thread that goes on running tasks. */
export declare class GpuHost {
  /** The device of an adapter with all the limits that it has, or a host whose `opened` has a problem. */
  static open(gpu: GPU | undefined): Promise<GpuHost>;
  readonly opened: Opened;
  /** Does what a worker has posted, in order. */
  run(calls: readonly Call[]): void;
}

/** The side of the module, in a worker, which it may block. */
export declare class GpuImports {
  constructor(opened: Opened, post: (calls: Call[], transfer: ArrayBuffer[]) => void, memory: () => WebAssembly.Memory);
  /** the module's import "loom_gpu" */
  readonly imports: Record<string, (...values: number[]) => number | void>;
}
