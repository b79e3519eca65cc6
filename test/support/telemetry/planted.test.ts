import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { createProject, PATIENCE, start } from '../../cli/command.ts';
import { freePort } from '../../free-port.ts';
import { calls, delta, type FakeGateway, type Play, startGateway, stream } from '../../gateway.ts';
import { send } from '../http/http-server.ts';
import { startCollector } from './collector.ts';

const TSX = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
const LEAKY = fileURLToPath(new URL('./fixtures/leaky/environment.ts', import.meta.url));

/** Made here, so that no scanner takes this file for a leak. */
const SECRETS = {
  gateway: 'planted-gateway-key-5b1',
  configured: 'planted-configured-key-9c2',
  variable: 'planted "token" of\\the service 7',
  password: 'planted-pass"word\\of the environment',
  shaped: ['sk', 'proj', 'aB3dE6gH9jK2mN5pQ8sT1vW4'].join('-'),
  github: `gh${'p_'}aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6`,
  database: 'planted-db-password',
} as const;

const { database: _known, ...spoken } = SECRETS;
const ALL = Object.values(spoken).join(' | ');

interface Served {
  readonly url: string;
  readonly scenariosUrl: string;
  readonly key: string;
  stop(): Promise<{ readonly log: string; readonly files: string }>;
}

async function serve(
  gateway: FakeGateway,
  variables: Readonly<Record<string, string>>,
  config: object = {},
): Promise<Served> {
  const cwd = createProject();
  const settings = {
    environments: {
      leaky: {
        command: process.execPath,
        args: ['--import', TSX, LEAKY],
        env: { SERVICE_PASSWORD: SECRETS.password },
      },
    },
    gateways: { 'other-*': { url: gateway.url, apiKey: SECRETS.configured } },
    ...config,
  };
  writeFileSync(join(cwd, 'proctor.config.js'), `export default ${JSON.stringify(settings)};\n`);
  const ports = ['--port', String(await freePort()), '--scenario-port', String(await freePort())];
  const process_ = start(['serve', ...ports, '--model', 'gpt-test', '--json'], {
    cwd,
    env: {
      PROCTOR_GATEWAY_URL: gateway.url,
      PROCTOR_GATEWAY_API_KEY: SECRETS.gateway,
      PROCTOR_LOG_LEVEL: 'debug',
      PLANTED_TOKEN: SECRETS.variable,
      ...variables,
    },
  });
  const [line] = await process_.prints(/^\{"url".*\}$/m);
  const started = JSON.parse(line) as { readonly url: string; readonly scenarios_url: string };
  return {
    url: started.url,
    scenariosUrl: started.scenarios_url,
    key: readFileSync(join(cwd, '.proctor', 'key'), 'utf8').trim(),
    async stop() {
      process_.process.kill('SIGTERM');
      const { stderr, code } = await process_.ended;
      expect(code).toBe(0);
      const folder = join(cwd, '.proctor');
      const names = readdirSync(folder).filter((name) => name !== 'key');
      return { log: stderr, files: names.map((name) => readFileSync(join(folder, name), 'latin1')).join('\n') };
    },
  };
}

const post = ({ key }: Served, url: string, path: string, body: object, headers: Record<string, string> = {}) =>
  send(url, path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

/** Text in pieces that cut every secret, with its tokens. */
function saysInPieces(text: string): Play {
  const pieces = text.match(/.{1,5}/gs) ?? [];
  const chunks = pieces.map((content) => {
    const chunk = delta({ content, reasoning_content: content }) as { choices: object[] };
    const logprobs = { content: [{ token: content, logprob: -1, bytes: [], top_logprobs: [] }] };
    return { ...chunk, choices: chunk.choices.map((choice) => ({ ...choice, logprobs })) };
  });
  return stream(delta({ role: 'assistant', content: '' }), ...chunks, delta({}, 'stop'));
}

test(
  'a secret that is planted anywhere is in no file of the store, no line of the log and no span',
  PATIENCE,
  async () => {
    const collector = await startCollector();
    const answer = saysInPieces(`I keep ${ALL}. Authorization: Bearer abcdef0123456789abcdef`);
    const refuse: Play = (response) =>
      response
        .writeHead(401, { 'content-type': 'application/json' })
        .end(JSON.stringify({ error: { message: `No: ${ALL}` } }));
    const gateway = await startGateway(
      calls(['leak', { text: ALL }], ['leak', `{"text": ${JSON.stringify(ALL)}`], ['file', {}]),
      answer,
      refuse,
      calls(['leak', { text: ALL }]),
      answer,
      answer,
    );
    const served = await serve(gateway, {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer ${SECRETS.configured}`,
      OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: 'true',
    });
    const asked = {
      env_name: 'leaky',
      scenario_name: 'keep',
      scenario_args: { secret: `${ALL} ${served.key} postgres://me:${SECRETS.database}@db/x` },
      model: 'gpt-test',
      metadata: { note: `${SECRETS.variable} ${served.key}`, other: SECRETS.github },
      sampling: { user: SECRETS.variable },
    };
    const ran = await post(served, served.url, '/v1/agent/run', asked, { prefer: 'wait=60' });
    const failed = await post(served, served.url, '/v1/agent/run', asked, { prefer: 'wait=60' });
    const chat = { messages: [{ role: 'user', content: ALL }], scenario: 'keep', scenario_args: asked.scenario_args };
    const turn = await post(served, served.scenariosUrl, '/v1/chat/completions', chat, { 'idempotency-key': 'once' });
    const { svc } = turn.json as { svc: { session_id: string; trace_id: string } };
    const finished = await post(served, served.scenariosUrl, `/v1/sessions/${svc.session_id}/finish`, {});
    const statuses = [ran, failed].map(({ json }) => (json as { status: string }).status);
    const { log, files } = await served.stop();

    expect([statuses, turn.status, finished.status]).toEqual([['completed', 'failed'], 200, 200]);
    // The model and the client of the chat were given everything: only what is kept is cleaned.
    expect(JSON.stringify(gateway.requests[1]?.body)).toContain(
      JSON.stringify(JSON.stringify(SECRETS.password)).slice(3, -3),
    );
    expect(turn.text).toContain(SECRETS.gateway);
    const harnessKey = /hk_[\w-]{43}/.exec(JSON.stringify(gateway.requests[1]?.body))?.[0];
    if (process.platform === 'linux') expect(harnessKey).toBeDefined();

    const exported = collector.text();
    expect(exported.includes('execute_tool leak')).toBe(true);
    const places = { files, log, exported };
    const everySecret = {
      ...SECRETS,
      key: served.key,
      harnessKey: harnessKey ?? 'hk_none',
      bearer: 'abcdef0123456789abcdef',
    };
    for (const [name, secret] of Object.entries(everySecret)) {
      const once = JSON.stringify(secret).slice(1, -1);
      const spellings = [secret, once, JSON.stringify(once).slice(1, -1), encodeURIComponent(secret)];
      for (const [place, text] of Object.entries(places)) {
        const found = spellings.some((spelling) => text.includes(spelling));
        expect([place, name, found]).toEqual([place, name, false]);
      }
    }
    for (const name of [
      'PLANTED_TOKEN',
      'SERVICE_PASSWORD',
      'PROCTOR_GATEWAY_API_KEY',
      'api_key',
      'github_token',
      'proctor_key',
    ]) {
      expect([name, files.includes(`[redacted:${name}]`)]).toEqual([name, true]);
    }
    expect(files.includes('top_logprobs')).toBe(false);
  },
);

test(
  'with redact: false the store keeps what happened as it was, and the log still has no secret',
  PATIENCE,
  async () => {
    const gateway = await startGateway(saysInPieces(ALL));
    const served = await serve(gateway, {}, { redact: false });
    const asked = { env_name: 'leaky', scenario_name: 'keep', scenario_args: { secret: 'x' }, model: 'gpt-test' };
    const ran = await post(served, served.url, '/v1/agent/run', asked, { prefer: 'wait=60' });
    const { log, files } = await served.stop();
    expect(ran.json).toMatchObject({ status: 'completed' });
    const found = [files, log].map((text) => [text.includes(SECRETS.gateway), text.includes('top_logprobs')]);
    expect(found).toEqual([
      [true, true],
      [false, false],
    ]);
  },
);
