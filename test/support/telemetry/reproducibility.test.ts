import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { createModels } from '../../../src/models/gateway/create-model.ts';
import { PROCTOR_VERSION } from '../../../src/support/runtime/version.ts';
import { says, startGateway } from '../../gateway.ts';
import { startService, temporaryDirectory, traceIdOf } from '../../service/runs/service.ts';

const COUNTER = fileURLToPath(new URL('../../../environments/counter/environment.ts', import.meta.url));

test('a trace records what is needed to run it again: versions, the hash of the code, seed, sampling, arguments', async () => {
  const folder = temporaryDirectory();
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(join(folder, 'environment.ts'), `export { default } from ${JSON.stringify(COUNTER)};\n`);
  const gateway = await startGateway(says('I do not count.'));
  const service = await startService({
    environments: new Map([['counter', { kind: 'module', path: join(folder, 'environment.ts') }]]),
    models: createModels({ gatewayUrl: gateway.url }),
  });
  const run = async () => {
    const body = { model: 'gpt-test', seed: 11, sampling: { temperature: 0.25 }, max_steps: 3 };
    return await service.ended(traceIdOf(await service.run(body)));
  };
  const [first, second] = [await run(), await run()];
  writeFileSync(join(folder, 'data.json'), '{"changed":true}');
  const third = await run();

  expect(first).toMatchObject({
    seed: 11,
    sampling: { temperature: 0.25 },
    scenario_args: { target: 3 },
    max_steps: 3,
    versions: {
      proctor: PROCTOR_VERSION,
      environment: expect.stringMatching(/^\d+\.\d+\.\d+$/),
      environment_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      protocol: '2025-11-25',
      node: process.versions.node,
    },
  });
  expect(second.versions).toEqual(first.versions);
  expect(third.versions).toEqual({ ...first.versions, environment_hash: expect.stringMatching(/^[0-9a-f]{64}$/) });
  expect(third.versions.environment_hash).not.toBe(first.versions.environment_hash);
  expect(gateway.requests[0]?.body).toMatchObject({ seed: 11, temperature: 0.25 });
});
