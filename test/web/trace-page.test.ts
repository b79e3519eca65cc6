import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EventBody } from '../../src/contract/event.ts';
import { newTrace } from '../trace/events.ts';
import { attributesOf, type Document, parseHtml } from './html.ts';
import { openSite, type Site } from './site.ts';
import { begun, ending, failedInSetup, PNG, QUEUED, setUp, steps, turnStarted } from './traces.ts';

const ends: (() => void | Promise<void>)[] = [];
let site: Site;
let cookie: string;

beforeAll(async () => {
  site = await openSite({}, (end) => ends.push(end));
  cookie = await site.signIn();
});
afterAll(async () => {
  for (const end of ends.reverse()) await end();
});

async function open(path: string): Promise<Document> {
  const reply = await site.browse(path, { cookie });
  expect(reply.status).toBe(200);
  return parseHtml(reply.text);
}

async function openTrace(bodies: readonly EventBody[]): Promise<Document> {
  return open(`/traces/${await site.addTrace(bodies, newTrace(QUEUED))}`);
}

function expectTexts(page: Document, texts: readonly string[]): void {
  expect(texts.filter((text) => !page.text.includes(text))).toEqual([]);
}

function refreshOf(page: Document): readonly string[] {
  return page.elements.filter(({ attributes }) => attributes.has('http-equiv')).map(({ name }) => name);
}

/** All of the JSON's lines, as `JSON.stringify` lays them out. */
const laidOut = (value: unknown) => JSON.stringify(value, null, 2);

describe('the page of a trace', () => {
  it('shows what was asked: environment, scenario, arguments, model, sampling, seed, metadata, limit', async () => {
    const page = await openTrace([...begun, setUp, ...steps('none'), ...ending]);
    expectTexts(page, [
      'desk · exchange',
      'gpt-5-mini',
      laidOut(QUEUED.scenario_args),
      laidOut(QUEUED.sampling),
      laidOut(QUEUED.metadata),
      'Steps allowed30',
      'Seed7',
    ]);
  });

  it('shows what the model was given: system text, prompt with its parts, tools with their schemas', async () => {
    const page = await openTrace([...begun, setUp, ...steps('none'), ...ending]);
    expectTexts(page, [
      'You are a desk agent.\nNever give a refund without an order number.',
      'I want to exchange two items.',
      'Here is a photograph of the damage.',
      'find_order',
      'Finds an order by its number.',
      laidOut({ type: 'object', properties: { order_id: { type: 'string' } }, required: ['order_id'] }),
    ]);
    expect(attributesOf(page, 'img', 'src')).toContain(`data:image/png;base64,${PNG}`);
  });

  it('shows every step: text, reasoning, refusal, parallel calls, arguments, results, errors, what came back as JSON', async () => {
    const refused: EventBody = {
      type: 'model.responded',
      turn: 1,
      step: 4,
      message: { role: 'assistant', content: null, reasoning: null, refusal: 'I will not do that.', tool_calls: [] },
      finish_reason: 'content_filter',
      usage: {
        prompt_tokens: 1,
        completion_tokens: 1,
        total_tokens: 2,
        cached_tokens: 0,
        reasoning_tokens: 0,
        cost_usd: null,
      },
      token_ids: null,
      logprobs: null,
      retries: 0,
      duration_ms: 7,
    };
    const page = await openTrace([...begun, setUp, ...steps('none'), refused]);
    expectTexts(page, [
      'Steps (4)',
      '1.6 s · 2,149 tokens · tool_calls · 2 retries',
      'The order comes first, then its owner.',
      'I will look that up.',
      laidOut({ order_id: '#W2378156' }),
      laidOut({ order_id: '#W2378156', status: 'delivered', items: [1, 2] }),
      'No user has this address.',
      '{"order_id": "#W2378156", "items": [1, 2',
      'The arguments are not JSON: Unexpected end of input.',
      laidOut({ type: 'resource_link', uri: 'desk://photographs/1', name: 'The original' }),
      laidOut({ taken: 3, place: 'the second shelf' }),
      'I will not do that.',
      'content_filter',
    ]);
    const ids = page.elements.flatMap(({ attributes }) => attributes.get('id') ?? []);
    expect(ids).toEqual(['step-1', 'step-2', 'step-3', 'step-4']);
    expect(page.text.split('error').length - 1).toBe(2);
  });

  it('shows a structured result once when it was sent as text too', async () => {
    const page = await openTrace([...begun, setUp, ...steps('none')]);
    expect(page.text.split('"delivered"').length - 1).toBe(1);
  });

  it('shows a call that was never answered', async () => {
    const page = await openTrace([...begun, setUp, ...steps('none'), ...ending]);
    expectTexts(page, ['notify_warehouse no result', laidOut({ item: 2 })]);
  });

  it('shows the answer, the evaluation with subscores and info, tokens, cost, times, versions and logs', async () => {
    const page = await openTrace([...begun, setUp, ...steps('none'), ...ending]);
    expectTexts(page, [
      laidOut({ resolution: 'exchanged', items: [1, 2] }),
      '0.625',
      'One of two items was exchanged for the right one.',
      'right items0.53',
      'right owner11',
      laidOut({ differing_records: ['orders/#W2378156'], not_judged: ['The agent was polite.'] }),
      '9,178 tokens',
      'Prompt tokens8,330 (512 cached)',
      'Completion tokens848 (256 reasoning)',
      '$0.0168',
      'model 6.6 s',
      'tools 31 ms',
      'desk 2.4.1',
      'MCP 2025-11-25',
      'ab'.repeat(32),
      'warning environment: The stock list is 3 days old.',
    ]);
  });

  it('says first why a run failed: where, in which words, and what the environment logged last', async () => {
    const page = await openTrace(failedInSetup());
    const beforePrompt = page.text.slice(0, page.text.indexOf('Prompt'));
    for (const text of ['failed', 'Failed in the setup of the scenario', 'exit code 3', 'orders.json: no such file']) {
      expect(beforePrompt).toContain(text);
    }
  });

  it('keeps the evaluation of a failed run apart from its reward', async () => {
    const failed: EventBody = {
      type: 'run.finished',
      status: 'failed',
      stop_reason: 'error',
      reward: null,
      error: { boundary: 'model', code: 'model_failed', message: 'The gateway answered 401: wrong key' },
    };
    const page = await openTrace([...begun, setUp, ...steps('none'), ...ending.slice(0, -1), failed]);
    expectTexts(page, [
      '–desk · exchange',
      'Failed at the model',
      'The gateway answered 401: wrong key',
      'To the last step (4)',
    ]);
    expect(page.text.slice(page.text.indexOf('Evaluation'))).toContain('0.625');
  });

  it('says in a sentence how a run ended without an answer', async () => {
    const stopped: EventBody = {
      type: 'run.finished',
      status: 'completed',
      stop_reason: 'max_steps',
      reward: 0,
      error: null,
    };
    const page = await openTrace([...begun, setUp, ...steps('none'), stopped]);
    expectTexts(page, ['completed · max_steps', 'The model had not answered after 30 steps']);
  });

  it('tells of the attempts before this one', async () => {
    const traceId = await site.addTrace([...begun, setUp], newTrace(QUEUED));
    await site.store.startNextAttempt(traceId, 1, 'lost');
    expectTexts(await open(`/traces/${traceId}`), ['attempt 2: 1 was lost', '"end": "lost"']);
  });

  it('shows the messages of every turn of a session with several', async () => {
    const page = await openTrace([
      ...begun,
      setUp,
      ...steps('none'),
      { type: 'turn.finished', turn: 1, status: 'answered', tool_ms: 1 },
      { type: 'turn.started', turn: 2, messages: [{ role: 'user', content: 'And the second one?' }] },
      { type: 'model.requested', turn: 2, step: 4 },
    ]);
    expectTexts(page, ['And the second one?']);
    expect(page.text.indexOf('And the second one?')).toBeGreaterThan(page.text.indexOf('Step 3'));
  });

  it('is loaded again while the run goes on, and not once it has ended', async () => {
    expect(refreshOf(await openTrace([]))).toEqual(['meta']);
    expect(refreshOf(await openTrace([...begun, setUp, ...steps('none')]))).toEqual(['meta']);
    expect(refreshOf(await openTrace([...begun, setUp, ...steps('none'), ...ending]))).toEqual([]);
    expect(refreshOf(await openTrace(failedInSetup()))).toEqual([]);
  });

  it('shows 2,000 steps', async () => {
    const step = steps('none').filter((body) => 'step' in body && body.step === 1);
    const bodies = Array.from({ length: 2_000 }, (_, index) => step.map((body) => ({ ...body, step: index + 1 })));
    const page = await openTrace([...begun, setUp, turnStarted, ...bodies.flat(), ...ending.slice(2)]);
    expect(page.elements.filter(({ attributes }) => attributes.get('class') === 'step')).toHaveLength(2_000);
    expectTexts(page, ['Steps (2,000)', '4,000 tool calls']);
  });
});

describe('images', () => {
  it('are shown from their bytes, or from the blob route when they are stored as one', async () => {
    const traceId = await site.addTrace([...begun]);
    const reference = await site.store.putBlob(traceId, Buffer.from(PNG, 'base64'), 'image/png');
    const page = await openTrace([...begun, setUp, ...steps(reference), ...ending]);
    const path = `/v1/blobs/${reference.split('/').at(-1)}`;
    expect(attributesOf(page, 'img', 'src')).toContain(path);
    const blob = await site.browse(path, { cookie });
    expect([blob.status, blob.headers['content-type']]).toEqual([200, 'image/png']);
  });

  it('of a type that can hold a script are not shown', async () => {
    const page = await openTrace([...begun, setUp, ...steps('none')]);
    expect(attributesOf(page, 'img', 'src').filter((source) => source.includes('svg'))).toEqual([]);
    expectTexts(page, ['An image of type image/svg+xml, which is not shown here.']);
  });

  it('never become another address: what is neither bytes nor a reference to some is shown as text', async () => {
    const sources = [
      'svc-blob://sha256/../../?token=planted',
      'svc-blob://sha256/',
      'https://evil.example/pixel.png',
      '"><script>alert(1)</script>',
      'javascript:alert(1)',
    ];
    for (const source of sources) {
      const page = await openTrace([...begun, setUp, ...steps(source)]);
      expect(attributesOf(page, 'img', 'src').every((src) => src === `data:image/png;base64,${PNG}`)).toBe(true);
      expectTexts(page, [`An image whose bytes cannot be read: ${source}`]);
    }
  });
});

describe('the list of runs', () => {
  it('shows each run with its reward, status, model, counts and, where it failed, why', async () => {
    const full = await site.addTrace([...begun, setUp, ...steps('none'), ...ending], newTrace(QUEUED));
    const failed = await site.addTrace(failedInSetup('no such order'), newTrace(QUEUED));
    const page = await open('/');
    const links = attributesOf(page, 'a', 'href');
    expect(links.indexOf(`/traces/${failed}`)).toBeLessThan(links.indexOf(`/traces/${full}`));
    expectTexts(page, ['desk · exchange', '0.625', 'gpt-5-mini', '9,178', 'setup: no such order']);
  });

  it('goes on with the next page until all were shown once', async () => {
    const own = await openSite();
    const ids = await Promise.all(Array.from({ length: 60 }, () => own.addTrace([])));
    const ownCookie = await own.signIn();
    const seen: string[] = [];
    for (let path: string | undefined = '/'; path !== undefined; ) {
      const page: Document = parseHtml((await own.browse(path, { cookie: ownCookie })).text);
      const links: readonly string[] = attributesOf(page, 'a', 'href');
      seen.push(...links.filter((link) => link.startsWith('/traces/')).map((link) => link.slice('/traces/'.length)));
      path = links.find((link) => link.startsWith('/?cursor='));
    }
    expect(seen.sort()).toEqual(ids.sort());
  });

  it('is loaded again while a run goes on', async () => {
    const own = await openSite();
    const ownCookie = await own.signIn();
    const openList = async () => parseHtml((await own.browse('/', { cookie: ownCookie })).text);
    expect(refreshOf(await openList())).toEqual([]);
    await own.addTrace(failedInSetup());
    expect(refreshOf(await openList())).toEqual([]);
    await own.addTrace([]);
    expect(refreshOf(await openList())).toEqual(['meta']);
  });

  it('says how to start a run where there is none', async () => {
    const own = await openSite();
    const page = parseHtml((await own.browse('/', { cookie: await own.signIn() })).text);
    expectTexts(page, ['No runs yet', 'proctor run counter count_to']);
  });
});
