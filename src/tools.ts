// Standard tools of agents, which work in a sandbox of the environment.

export type { ToolSet } from './environment/authoring/tool-set.ts';
export type { Sandbox } from './environment/sandbox/sandbox.ts';
export { applyPatch } from './environment/tools/apply-patch.ts';
export { type BashOptions, bash } from './environment/tools/bash.ts';
export { computer, type MouseButton, type Screen, type ScreenPoint } from './environment/tools/computer.ts';
export { type EditorOptions, editor } from './environment/tools/editor.ts';
export { exec } from './environment/tools/exec.ts';
export { files } from './environment/tools/files.ts';
export { memory } from './environment/tools/memory.ts';
export { type PythonOptions, python } from './environment/tools/python.ts';
export { shell } from './environment/tools/shell.ts';
export { think } from './environment/tools/think.ts';
