import { describe, expect, it } from 'vitest';
import { until } from '../../until.ts';
import { errorOf, textOf } from '../server/clients.ts';
import { connectTo, startDev } from './dev-server.ts';
import { createLab, SOURCE } from './project.ts';

const PATIENCE = { timeout: 60_000 } as const;
const BROKEN = SOURCE.replace("() => 'v1'", "() => = 'v1'");

describe('a version that is broken', PATIENCE, () => {
  it('is shown with its place, and the last good one keeps serving', async () => {
    const lab = createLab();
    const server = await startDev(lab);
    const { client, changed } = await connectTo(server);
    lab.write('environment.ts', BROKEN);
    await server.says('The last good version keeps serving');
    expect(server.said.join('\n')).toMatch(/lab\/environment\.ts:\d+:\d+: /);
    expect(textOf(await client.callTool({ name: 'version' }))).toBe('v1');
    lab.change("'v1'", "'v2'");
    await until(() => changed.length === 3);
    expect(textOf(await client.callTool({ name: 'version' }))).toBe('v2');
  });

  it('because its initialize hook fails is not taken by a session that has a good one', async () => {
    const lab = createLab();
    const server = await startDev(lab);
    const { client } = await connectTo(server);
    lab.change("say('initialize hook ' + display);", "throw new Error('no database');");
    await server.says('A session stays with the version before: its initialize hook failed');
    expect(textOf(await client.callTool({ name: 'version' }))).toBe('v1');
  });

  it('at the start is waited for, by clients too', async () => {
    const lab = createLab(BROKEN);
    const server = await startDev(lab);
    expect(server.said.join('\n')).toMatch(/environment\.ts:\d+:\d+: [\s\S]*cannot be started yet/);
    const connecting = connectTo(server);
    lab.write('environment.ts', SOURCE);
    const { client } = await connecting;
    expect(textOf(await client.callTool({ name: 'version' }))).toBe('v1');
  });

  it('at the start is an error of a client whose patience ends, without a path of the machine', async () => {
    const lab = createLab(BROKEN);
    const server = await startDev(lab, { patienceMs: 1 });
    const { message } = await errorOf(connectTo(server));
    expect(message).toContain('cannot be started');
    expect(message).not.toContain(lab.directory);
  });

  it('because a file is missing is mended by that file', async () => {
    const lab = createLab(SOURCE.replace('./label.ts', './other.ts'));
    const server = await startDev(lab);
    await server.says('cannot be started yet');
    lab.write('other.ts', "export const LABEL = 'found';\n");
    await server.says('Reloaded in');
    const { client } = await connectTo(server);
    expect(textOf(await client.callTool({ name: 'label' }))).toBe('found');
  });
});
