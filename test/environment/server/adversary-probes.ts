import type { Agent, Params } from './adversary-agents.ts';

export type Probe = readonly [method: string, params: Params];

/** Names that are hidden, one that nothing has, and all that one can ask about such a name. */
export interface Kind {
  readonly hidden: readonly string[];
  readonly unknown: string;
  toProbes(name: string): Probe[];
}

const FUNCTION = { name: 'count', arguments: { target: 3 } };
/** Names of hubs as a careless comparison would find them, and of their functions as other software joins them. */
const SPELLINGS = [
  ...['Setup', 'SETUP', ' setup', 'setup ', 'setup\n', 'setup\0', 's\u0435tup', 'ｓｅｔｕｐ', 'setup*', '*', ''],
  ...['setup/count', 'setup.count', 'setup__count', 'setup_count', 'setup:count', 'adversary:count', 'setup://count'],
  ...['S3CRET_open', 'vault.S3CRET_open', 'dig', 'deep', 'deep:dig', 'erase', 'setup://functions', 'tools/setup'],
];

export const KINDS: readonly Kind[] = [
  {
    hidden: ['setup', 'evaluate', 'user', 'solution', 'vault', 'wallet', 'deep_dig', 'evaluation', 'tools_erase'],
    unknown: 'nothing',
    toProbes: probesOfTool,
  },
  { hidden: SPELLINGS, unknown: 'nothing', toProbes: (name) => [['tools/call', { name, arguments: FUNCTION }]] },
  // Through a dispatcher of its own.
  {
    hidden: [
      'setup',
      'vault',
      'S3CRET_open',
      'S3CRET_pay',
      'user/next',
      'vault/S3CRET_open',
      '../vault',
      '__proto__',
      'constructor',
      'erase',
    ],
    unknown: 'nothing',
    toProbes: (name) => [['tools/call', { name: 'notes', arguments: { name, arguments: FUNCTION } }]],
  },
  { hidden: ['grading', 'deep_hint'], unknown: 'nothing', toProbes: probesOfPrompt },
  {
    hidden: ['exam://key', 'exam://keys/1', 'exam://keys/{id}', 'deep://plan', 'deep://plans/1', 'deep://plans/{id}'],
    unknown: 'exam://nothing',
    toProbes: probesOfResource,
  },
  {
    hidden: ['setup', 'evaluate', 'evaluation', 'solution', 'vault', 'user', 'wallet'].map(
      (hub) => `${hub}://functions`,
    ),
    unknown: 'nothing://functions',
    toProbes: probesOfResource,
  },
  {
    hidden: ['svc://setup', 'svc://functions', 'svc://solution', 'svc://tools', 'svc://scenarios/count', 'svc://'],
    unknown: 'svc://nothing',
    toProbes: (uri) => [['resources/read', { uri }]],
  },
  // A list, a function, one that throws; a scenario that nobody has.
  {
    hidden: [
      'count',
      'open',
      'seeded',
      'COUNT',
      'count/',
      'count?id=S3CRET',
      '*',
      '',
      '{scenario}',
      '../key',
      'co%75nt',
    ].map((scenario) => `svc://tasks/${scenario}`),
    unknown: 'svc://tasks/nothing',
    toProbes: probesOfResource,
  },
  // To an agent it is one of the pages that a template of its own has.
  { hidden: ['exam://pages/key'], unknown: 'exam://pages/nothing', toProbes: probesOfResource },
];

/** What a forged declaration is tried on. */
export const CORE: readonly Kind[] = KINDS.map(({ hidden, unknown, toProbes }) => ({
  hidden: hidden.slice(0, 7),
  unknown,
  toProbes: (name) => toProbes(name).filter((_probe, index) => index < 3),
}));

/** Asks for each hidden thing as for one that does not exist. Gives how the answers differ, and what was asked in all. */
export async function tellApart(
  agent: Agent,
  kinds: readonly Kind[] = KINDS,
  toParams: (params: Params) => Params = (params) => params,
): Promise<{ readonly differences: string[]; readonly asked: number }> {
  const differences: string[] = [];
  let asked = 0;
  const askAll = async (probes: readonly Probe[], name: string) => {
    const answers: string[] = [];
    for (const [method, params] of probes) answers.push(without(name, await agent.ask(method, toParams(params))));
    asked += answers.length;
    return answers;
  };
  for (const { hidden, unknown, toProbes } of kinds) {
    const expected = await askAll(toProbes(unknown), unknown);
    for (const name of hidden) {
      const probes = toProbes(name);
      for (const [index, answer] of (await askAll(probes, name)).entries()) {
        if (answer === expected[index] && !answer.includes('S3CRET')) continue;
        differences.push(`${JSON.stringify(probes[index])}:\n${answer}\n${expected[index]}`);
      }
    }
  }
  return { differences, asked };
}

/** An answer that does not say what was asked for: it is quoted as JSON, and in HTTP's answers as JSON in JSON. */
function without(name: string, answer: string): string {
  if (name === '') return answer.replaceAll('Unknown tool: ', 'Unknown tool: ?');
  const quoted = JSON.stringify(name).slice(1, -1);
  return [JSON.stringify(quoted).slice(1, -1), quoted, name].reduce((text, form) => text.replaceAll(form, '?'), answer);
}

function probesOfTool(name: string): Probe[] {
  const calls: readonly Params[] = [
    {},
    { arguments: FUNCTION },
    { arguments: { name: 'S3CRET_seed' }, audience: 'harness', 'svc/audience': 'harness' },
    { arguments: { name: 'no such function' } },
    { arguments: { S3CRET_at: 7 } },
    { arguments: 'text' },
    { arguments: [FUNCTION] },
    { arguments: JSON.parse('{"__proto__":{"name":"count"},"constructor":1}') },
    { arguments: { ...FUNCTION, _meta: { 'svc/audience': 'harness' } } },
    { task: { ttl: 1000 } },
    { inputResponses: { who: { action: 'accept' } }, requestState: 'bm9uZQ.bm9uZQ' },
    { requestState: { not: 'a text' } },
    { _meta: { progressToken: 'p', 'io.modelcontextprotocol/logLevel': 'debug' } },
    { _meta: { 'svc/solution_results': [], 'svc/related_request': 1 } },
    { _meta: JSON.parse('{"__proto__":{"svc/audience":"harness"}}') },
  ];
  return [
    ...calls.map((call): Probe => ['tools/call', { ...call, name }]),
    ['tools/list', { cursor: name }],
    ['tools/get', { name }],
    ['prompts/get', { name }],
    ['tasks/result', { taskId: name }],
    ['logging/setLevel', { level: name }],
    ['completion/complete', { ref: { type: 'ref/tool', name }, argument: { name: 'name', value: '' } }],
    ['completion/complete', { ref: { type: 'ref/prompt', name }, argument: { name: 'name', value: 'S' } }],
    [name, FUNCTION],
    [`tools/call/${name}`, {}],
  ];
}

function probesOfPrompt(name: string): Probe[] {
  const ref = { type: 'ref/prompt', name };
  return [
    ['prompts/get', { name }],
    ['prompts/get', { name, arguments: { of: 'x' } }],
    ['completion/complete', { ref, argument: { name: 'of', value: 'S3' } }],
    ['prompts/get', { name, arguments: { of: 7 } }],
    ['prompts/get', { name, arguments: { nothing: 'x' } }],
    ['tools/call', { name }],
    ['prompts/list', { cursor: name }],
    ['completion/complete', { ref, argument: { name: 'nothing', value: '' } }],
    ['completion/complete', { ref, argument: { name: 'of', value: '' }, context: { arguments: { of: 'x' } } }],
  ];
}

function probesOfResource(uri: string): Probe[] {
  const ref = { type: 'ref/resource', uri };
  return [
    ['resources/read', { uri }],
    ['resources/subscribe', { uri }],
    ['completion/complete', { ref, argument: { name: 'id', value: '' } }],
    ['resources/read', { uri, _meta: { progressToken: 'p' } }],
    ['resources/unsubscribe', { uri }],
    ['resources/list', { cursor: uri }],
    ['resources/templates/list', { cursor: uri }],
    ['completion/complete', { ref, argument: { name: 'uri', value: 'S3' } }],
  ];
}
