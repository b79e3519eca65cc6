import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { agentEntrySchema } from '../../../src/rollout/agents/agent-definition.ts';
import { createAgents } from '../../../src/rollout/agents/agents.ts';
import { splitCommandLine } from '../../../src/rollout/agents/split-command-line.ts';
import { loadProject } from '../../../src/service/config/project.ts';
import { temporaryDirectory } from '../../service/runs/service.ts';

/** A folder of a `PATH` with these programs. */
function programs(...names: readonly string[]): string {
  const folder = temporaryDirectory();
  for (const name of names) {
    writeFileSync(join(folder, name), '#!/bin/sh\n');
    chmodSync(join(folder, name), 0o755);
  }
  return folder;
}

const entry = (given: object) => agentEntrySchema.parse(given);

describe('an agent', () => {
  it('is known by name where its command is installed', () => {
    const path = programs('codex');
    writeFileSync(join(path, 'package.json'), '{"version":"0.169.0"}');
    const agents = createAgents({ entries: {}, directory: '/', path });
    expect(agents.names).toEqual(['codex']);
    expect(agents.find('codex')).toMatchObject({
      known: 'codex',
      needs: 'openai',
      protocol: 'exec',
      version: '0.169.0',
    });
    expect(() => agents.find('claude')).toThrow(/claude is known, and its command is not installed/);
  });

  it('of the configuration wins over a known one of its name', () => {
    const agents = createAgents({
      entries: { codex: entry({ command: ['sh', '-c', 'true'], needs: 'none', version: '9' }) },
      directory: '/',
      path: `${programs('codex')}:/bin`,
    });
    expect(agents.find('codex')).toMatchObject({ command: ['/bin/sh', '-c', 'true'], known: null, version: '9' });
  });

  it('of the configuration has the paths of that', () => {
    const directory = programs('run.sh');
    mkdirSync(join(directory, 'notes'));
    const agents = createAgents({
      entries: { mine: entry({ command: ['./run.sh', './notes', '{prompt}'], readable: ['notes'] }) },
      directory,
      path: '/bin',
    });
    const { command, readable } = agents.find('mine');
    expect(command).toEqual([join(directory, 'run.sh'), join(directory, 'notes'), '{prompt}']);
    expect(readable).toEqual([join(directory, 'notes')]);
  });

  it('is found by nothing that is no program', () => {
    const path = programs('codex');
    chmodSync(join(path, 'codex'), 0o644);
    const agents = createAgents({ entries: { gone: entry({ command: ['./gone'] }) }, directory: path, path });
    expect(agents.names).toEqual(['gone']);
    expect(() => agents.find('gone')).toThrow(/there is no program "\.\/gone"/);
    expect(() => agents.find('acp:')).toThrow(/there is no program ""/);
    expect(() => agents.find('constructor')).toThrow(/There is no agent "constructor"/);
  });

  it('of a program with a known name is started with the configuration of that one, over ACP too', () => {
    const agents = createAgents({ entries: {}, directory: '/', path: programs('gemini', 'claude-agent-acp') });
    expect(agents.find('acp:gemini --acp --yolo')).toMatchObject({ known: 'gemini', needs: 'gemini', protocol: 'acp' });
    expect(agents.find('acp:claude-agent-acp')).toMatchObject({ known: 'claude', needs: 'anthropic' });
  });

  it('is refused in a configuration by the name of its field', async () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'package.json'), '{"type":"module"}');
    const write = (agents: object) =>
      writeFileSync(join(directory, 'proctor.config.mjs'), `export default ${JSON.stringify({ agents })}`);
    write({ mine: { command: [] } });
    await expect(loadProject(directory, {})).rejects.toThrow(/agents\.mine\.command/);
  });
});

describe('a command line of acp:', () => {
  it.each([
    ['gemini --acp', ['gemini', '--acp']],
    [`a 'b c' "d \\"e\\" f" g\\ h`, ['a', 'b c', 'd "e" f', 'g h']],
    ["x'y z'w", ['xy zw']],
    ["open 'never closed", ['open', 'never closed']],
    ['$HOME `id` ; rm', ['$HOME', '`id`', ';', 'rm']],
    ['  ', []],
  ])('%s is split as a shell splits it, and nothing in it is done', (line, words) => {
    expect(splitCommandLine(line)).toEqual(words);
  });
});
