// Compiles every shader of a folder by Dawn's compiler, which takes WGSL by its letter:  node tools/compile_wgsl.mjs FOLDER
// Tests on graphics cards keep the shaders that they meet in the folder that LOOM_GPU_TEXTS names (tests/support/gpu.h). The npm package webgpu
// is in the folder that LOOM_NPM names (tools/npm_packages.sh); without it this ends with 77. No Vulkan is needed: nothing runs.
import { existsSync } from "node:fs";
import { readFile, readdir } from "node:fs/promises";
import { homedir } from "node:os";
import { argv, env, exit } from "node:process";
import { pathToFileURL } from "node:url";

const npm = env.LOOM_NPM ?? `${env.XDG_CACHE_HOME ?? `${homedir()}/.cache`}/loom/npm`;
if (!existsSync(`${npm}/node_modules/webgpu`)) {
  console.log(`skipped: ${npm} has no npm package webgpu: tools/npm_packages.sh installs it`);
  exit(77);
}
const { create, globals } = await import(pathToFileURL(`${npm}/node_modules/webgpu/index.js`));
Object.assign(globalThis, globals);
globalThis.gpu = create(["backend=null", "enable-dawn-features=allow_unsafe_apis"]); // Dawn ends with the last reference to it
const adapter = await globalThis.gpu.requestAdapter();
const limits = ["maxStorageBuffersPerShaderStage", "maxComputeWorkgroupStorageSize", "maxComputeInvocationsPerWorkgroup", "maxComputeWorkgroupSizeX"];
// Units that multiply matrices are experimental.
const requiredFeatures = ["subgroups", "chromium-experimental-subgroup-matrix"].filter((feature) => adapter.features.has(feature));
const device = await adapter.requestDevice({ requiredFeatures, requiredLimits: Object.fromEntries(limits.map((name) => [name, adapter.limits[name]])) });

// Returns the compiler's messages about a shader and the pipeline that src/backend/webgpu makes of it; empty where both are good.
async function faults(label, code) {
  const entries = [...code.matchAll(/@binding\((\d+)\) var<(uniform|storage, read_write|storage, read)>/g)].map(([, binding, kind]) => ({
    binding: Number(binding),
    visibility: 4,
    buffer: { type: { uniform: "uniform", "storage, read": "read-only-storage" }[kind] ?? "storage", hasDynamicOffset: kind === "uniform" },
  }));
  device.pushErrorScope("validation");
  const module = device.createShaderModule({ label, code });
  const { messages } = await module.getCompilationInfo();
  const told = messages.map((m) => `${m.type}: ${m.message}\n    ${code.split("\n")[m.lineNum - 1]}`);
  const layout = device.createPipelineLayout({ bindGroupLayouts: [device.createBindGroupLayout({ entries })] });
  // The null backend has neither the memory nor the subgroups that a pipeline with units asks for.
  if (told.length === 0 && !code.includes("subgroupMatrix")) device.createComputePipeline({ layout, compute: { module, entryPoint: "main" } });
  const error = await device.popErrorScope();
  // The card for which these texts were made has 32 KiB for a workgroup, Dawn's null backend 16.
  const [, shared] = error?.message.match(/total use of workgroup storage \((\d+) bytes\)/) ?? [];
  return told.length === 0 && error && !(Number(shared) <= 32768) ? [error.message] : told;
}

const names = (await readdir(argv[2])).filter((name) => name.endsWith(".wgsl")).sort();
const bad = new Map(); // names by fault
for (const name of names)
  for (const fault of await faults(name, await readFile(`${argv[2]}/${name}`, "utf8"))) bad.set(fault, [...(bad.get(fault) ?? []), name]);
for (const [fault, shaders] of bad) console.log(`${shaders.length} shaders, ${shaders[0]} is one: ${fault}`);
console.log(`${names.length} shaders, ${bad.size} faults`);
exit(names.length === 0 || bad.size !== 0 ? 1 : 0);
