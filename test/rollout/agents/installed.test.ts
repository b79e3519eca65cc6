import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Trace } from '../../../src/contract/service/trace.ts';
import { agentEntrySchema } from '../../../src/rollout/agents/agent-definition.ts';
import { createAgents } from '../../../src/rollout/agents/agents.ts';
import { startService, temporaryDirectory, traceIdOf } from '../../service/runs/service.ts';
import { hasSandbox, written } from './agents.ts';
import { installWithNpm, link, writeAgent, writeFile, writePlatform, writeProgram } from './installed-agent.ts';

/** Installs the agent below a home. @returns the folder of the `PATH` that has its program `made-up`. */
type Install = (home: string) => string;

const shim = (path: string, text: string) => dirname(writeProgram(path, text));

/** As the tools lay an installation out. */
const INSTALLS: Readonly<Record<string, Install>> = {
  'npm with a prefix of its own': (home) => installWithNpm(join(home, '.npm-global')),
  nvm: (home) => installWithNpm(join(home, '.nvm/versions/node/v20.19.0')),
  fnm: (home) => {
    const installation = join(home, '.local/share/fnm/node-versions/v20.19.0/installation');
    installWithNpm(installation);
    return join(link(join(home, 'run/fnm_multishells/4711_1'), installation), 'bin');
  },
  volta: (home) => {
    const volta = join(home, '.volta');
    const description = { name: 'made-up', package: '@made-up/agent', version: '1.2.3' };
    installWithNpm(join(volta, 'tools/image/packages/@made-up/agent'));
    writeFile(join(volta, 'tools/user/bins/made-up.json'), JSON.stringify(description));
    writeProgram(join(volta, 'bin/volta-shim'), '#!/bin/sh\necho "Volta error: Could not find executable"; exit 126\n');
    return dirname(link(join(volta, 'bin/made-up'), 'volta-shim'));
  },
  asdf: (home) => {
    const data = join(home, '.asdf');
    installWithNpm(join(data, 'installs/nodejs/20.19.0'));
    mkdirSync(join(data, 'installs/nodejs/22.1.0/bin'), { recursive: true });
    writeProgram(join(data, 'installs/nodejs/22.1.0/bin/made-up'), '#!/bin/sh\necho "a version that was not chosen"\n');
    writeFile(join(home, '.tool-versions'), 'python 3.12.0\nnodejs 20.19.0\n');
    const lines = ['#!/usr/bin/env bash', '# asdf-plugin: nodejs 20.19.0', '# asdf-plugin: nodejs 22.1.0'];
    return shim(join(data, 'shims/made-up'), `${lines.join('\n')}\nexec ${data}/bin/asdf exec "made-up" "$@"\n`);
  },
  'pnpm with a store of links in the folder of packages': (home) => {
    const pnpm = join(home, '.local/share/pnpm');
    const store = join(pnpm, 'global/5/.pnpm');
    writeAgent(join(store, '@made-up+agent@1.2.3/node_modules'));
    writePlatform(join(store, '@made-up+agent-linux@1.2.3/node_modules'));
    const beside = join(store, '@made-up+agent@1.2.3/node_modules/@made-up/agent-linux');
    link(beside, '../../../@made-up+agent-linux@1.2.3/node_modules/@made-up/agent-linux');
    const program = '$basedir/global/5/.pnpm/@made-up+agent@1.2.3/node_modules/@made-up/agent/bin/agent.js';
    return shim(join(pnpm, 'made-up'), `#!/bin/sh\nbasedir=$(dirname "$0")\nexec node  "${program}" "$@"\n`);
  },
  'pnpm with a store of links for all': (home) => {
    const pnpm = join(home, '.local/share/pnpm');
    const store = join(pnpm, 'store/v11/links/@made-up');
    writeAgent(join(store, 'agent/1.2.3/5f3a/node_modules'));
    writePlatform(join(store, 'agent-linux/1.2.3/9b1c/node_modules'));
    const modules = join(store, 'agent/1.2.3/5f3a/node_modules/@made-up');
    link(join(modules, 'agent-linux'), '../../../../../agent-linux/1.2.3/9b1c/node_modules/@made-up/agent-linux');
    const group = join(pnpm, 'global/v11/7348-18ea-0');
    link(join(group, 'node_modules/@made-up/agent'), join(modules, 'agent'));
    link(join(pnpm, 'global/v11/e331'), '7348-18ea-0');
    const program = `"$basedir_abs"/'../global/v11/e331/node_modules/@made-up/agent/bin/agent.js'`;
    return shim(join(pnpm, 'bin/made-up'), `#!/bin/sh\nbasedir_abs=$(dirname "$0")\nexec node  ${program} "$@"\n`);
  },
};

interface Installed {
  /** Hidden, as the home of a user is. */
  readonly home: string;
  readonly command: string;
  readonly path?: string;
}

async function play({ home, command, path = '' }: Installed): Promise<Trace> {
  const entry = agentEntrySchema.parse({ command: [command, '{mcp_url}'], needs: 'none' });
  const agents = createAgents({ entries: { tries: entry }, directory: '/', path, hidden: [home] });
  const service = await startService({ agents });
  return await service.ended(traceIdOf(await service.run({ agent: 'tries', model: undefined })));
}

describe.skipIf(!hasSandbox)('an agent in its sandbox', () => {
  it.each(Object.entries(INSTALLS))('that was installed by %s finds its packages', async (_, install) => {
    const home = temporaryDirectory();
    const trace = await play({ home, command: 'made-up', path: `${install(home)}:${process.env.PATH}` });
    expect(written(trace, 'stderr')).toBe('');
    expect(trace).toMatchObject({ outcome: 'graded', reward: 1 });
  });

  it('finds packages of a folder that is a link', async () => {
    const home = temporaryDirectory();
    const modules = join(home, 'shared/modules');
    writePlatform(modules);
    const program = writeProgram(
      join(home, 'agent/agent.cjs'),
      `#!/usr/bin/env node\nrequire('@made-up/agent-linux').play(process.argv[2]);\n`,
    );
    link(join(home, 'agent/node_modules'), '../shared/modules');
    const trace = await play({ home, command: program });
    expect(written(trace, 'stderr')).toBe('');
    expect(trace).toMatchObject({ outcome: 'graded', reward: 1 });
  });

  it('sees no folder that a package beside its own is only linked to', async () => {
    const home = temporaryDirectory();
    const environment = join(home, 'environments/exam');
    writeFile(join(environment, 'package.json'), '{"name":"exam"}');
    writeFileSync(join(environment, 'answers.json'), '["mine"]');
    const modules = join(home, 'agent/node_modules');
    writePlatform(modules);
    link(join(modules, 'exam'), '../../environments/exam');
    const program = writeProgram(
      join(home, 'agent/agent.cjs'),
      `#!/usr/bin/env node
const { readFileSync } = require('node:fs');
try {
  console.log(readFileSync(${JSON.stringify(join(environment, 'answers.json'))}, 'utf8'));
} catch (error) {
  console.log('not read: ' + error.code);
}
require('@made-up/agent-linux').play(process.argv[2]);\n`,
    );
    const trace = await play({ home, command: program });
    expect(written(trace)).toBe('not read: ENOENT');
    expect(trace.reward).toBe(1);
  });
});
