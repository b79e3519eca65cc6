import { readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Engine } from '../../../src/environment/sandbox/engine.ts';
import type { EngineUnderTest } from './engine-fixture.ts';

/** An engine of this machine, with a look at the folders that its sandboxes have. */
export async function underTest(engine: Engine): Promise<EngineUnderTest> {
  return {
    engine,
    image: undefined,
    otherUser: undefined,
    isOpen: engine.name === 'none',
    leftovers: async (owner) => foldersOf(engine.name, owner),
    close: async () => await engine.close(),
  };
}

/** Folders of an owner, and what runs from them. */
function foldersOf(engine: string, owner: string): readonly string[] {
  const names = readdirSync(tmpdir()).filter((name) => name.startsWith(`proctor-${engine}-`));
  const own = names.filter((name) => readText(join(tmpdir(), name, 'sandbox.json')).includes(owner));
  const running = readdirSync('/proc').filter((pid) => /^\d+$/.test(pid));
  const processes = running.flatMap((pid) => {
    const command = readText(join('/proc', pid, 'cmdline')).replaceAll('\0', ' ');
    return own.some((name) => command.includes(name)) ? [command] : [];
  });
  return [...own, ...processes];
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
