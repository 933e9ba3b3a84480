#!/usr/bin/env python3
"""Does a GPU keep the order of sums of docs/internals/numerics.md? chain64 in WGSL, three ways, beside the same sums in numpy f32.

usage: wgsl_trial.py            (needs the PyPI packages wgpu and numpy and a Vulkan driver, for example Mesa's lavapipe)

free  s = s + a * b as written: a driver may fuse and reassociate.
keep  the product passes through an exclusive or with a uniform that holds 0: nothing can be fused across it.
zero  s + (a * b + z) with z a uniform 0.0.
Prints per adapter and form how many of 65 536 sums of 500 terms differ from the CPU's. Exit 1 when keep differs anywhere.
"""
import sys

import numpy as np
import wgpu

LANES, TERMS = 65536, 500
FORMS = {"free": "s + x * y", "keep": "s + bitcast<f32>(bitcast<u32>(x * y) ^ u.zero)", "zero": "s + (x * y + u.zf)"}
SHADER = """
struct U { zero: u32, zf: f32 }
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
@group(0) @binding(3) var<uniform> u: U;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let lane = id.x;
  var total = 0.0;
  for (var begin = 0u; begin < TERMSu; begin += 64u) {
    var s = 0.0;
    for (var i = begin; i < min(begin + 64u, TERMSu); i++) {
      let x = a[i * LANESu + lane];
      let y = b[i];
      s = FORM;
    }
    total = total + bitcast<f32>(bitcast<u32>(s) ^ u.zero);
  }
  out[lane] = total;
}
"""


def chain64(a, b):
    total = np.zeros(LANES, np.float32)
    for begin in range(0, TERMS, 64):
        s = np.zeros(LANES, np.float32)
        for i in range(begin, min(begin + 64, TERMS)):
            s = s + a[i] * b[i]
        total = total + s
    return total


def run(device, form, a, b):
    usage = wgpu.BufferUsage
    code = SHADER.replace("FORM", FORMS[form]).replace("TERMS", str(TERMS)).replace("LANES", str(LANES))
    buffers = [device.create_buffer_with_data(data=a, usage=usage.STORAGE), device.create_buffer_with_data(data=b, usage=usage.STORAGE),
               device.create_buffer(size=LANES * 4, usage=usage.STORAGE | usage.COPY_SRC),
               device.create_buffer_with_data(data=np.zeros(2, np.uint32), usage=usage.UNIFORM)]
    pipeline = device.create_compute_pipeline(layout="auto", compute={"module": device.create_shader_module(code=code), "entry_point": "main"})
    entries = [{"binding": i, "resource": {"buffer": buffer, "offset": 0, "size": buffer.size}} for i, buffer in enumerate(buffers)]
    group = device.create_bind_group(layout=pipeline.get_bind_group_layout(0), entries=entries)
    encoder = device.create_command_encoder()
    work = encoder.begin_compute_pass()
    work.set_pipeline(pipeline)
    work.set_bind_group(0, group)
    work.dispatch_workgroups(LANES // 64)
    work.end()
    device.queue.submit([encoder.finish()])
    return np.frombuffer(device.queue.read_buffer(buffers[2]), np.float32)


def main():
    random = np.random.default_rng(1)
    a = random.standard_normal((TERMS, LANES), np.float32)
    b = random.standard_normal(TERMS, np.float32)
    want, bad = chain64(a, b).view(np.uint32), False
    for adapter in wgpu.gpu.enumerate_adapters_sync():
        try:
            device = adapter.request_device_sync()
        except RuntimeError as error:
            print(f"{adapter.summary}\tno device: {str(error).splitlines()[0]}")
            continue
        for form in FORMS:
            differ = int((run(device, form, a, b).view(np.uint32) != want).sum())
            bad |= form == "keep" and differ != 0
            print(f"{adapter.summary}\t{form}\t{differ} of {LANES} differ")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
