import { readdirSync, readFileSync } from 'node:fs';

const STANDARD_ERROR = 2;
const CLOSE_ON_EXEC = 0o2000000;

/**
 * Descriptors beyond the standard three that a child would inherit. Descriptors that Node.js opens close themselves in a
 * child; those that this process was started with do not.
 */
export function inheritedDescriptors(): readonly number[] {
  return descriptorNames()
    .filter((name) => Number(name) > STANDARD_ERROR && isInherited(name))
    .map(Number);
}

function descriptorNames(): readonly string[] {
  try {
    return readdirSync('/proc/self/fdinfo');
  } catch {
    return [];
  }
}

function isInherited(name: string): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${name}`, 'utf8'))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
  } catch {
    // It was the descriptor that listed the others, and is closed by now.
    return false;
  }
}
