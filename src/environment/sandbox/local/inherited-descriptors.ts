import { readdirSync, readFileSync } from 'node:fs';

const STANDARD_ERROR = 2;
const CLOSE_ON_EXEC = 0o2000000;

/**
 * The highest descriptor of this process that a child would inherit, 2 when there is none beyond the standard three.
 * What Node opens closes itself in a child; what this process was started with, at a high number, does not.
 */
export function highestInheritedDescriptor(): number {
  let highest = STANDARD_ERROR;
  for (const name of descriptorNames()) {
    const descriptor = Number(name);
    if (descriptor > highest && isInherited(name)) highest = descriptor;
  }
  return highest;
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
    // Closed meanwhile: it was the one that listed the others.
    return false;
  }
}
