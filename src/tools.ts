// Tools that agents know, over a sandbox of the session.

export type { ToolSet } from './environment/authoring/tool-set.ts';
export { applyPatch } from './environment/tools/apply-patch.ts';
export { type BashOptions, bash } from './environment/tools/bash.ts';
export { computer } from './environment/tools/computer.ts';
export { editor } from './environment/tools/editor.ts';
export { exec } from './environment/tools/exec.ts';
export { files } from './environment/tools/files.ts';
export { memory } from './environment/tools/memory.ts';
export { python } from './environment/tools/python.ts';
export type { KeyAction, MouseAction, MouseButton, Screen } from './environment/tools/screen.ts';
export { shell } from './environment/tools/shell.ts';
export { think } from './environment/tools/think.ts';
