import { EnvironmentServer } from 'proctor';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { KEY as DEV_KEY, startDev } from '../environment/dev/dev-server.ts';
import { createLab } from '../environment/dev/project.ts';
import { serveHttp } from '../environment/server/clients.ts';
import { createExam } from '../environment/server/exam.ts';
import { until } from '../until.ts';
import { plant } from '../web/planted.ts';
import { findChromium, useChromium } from './chromium.ts';
import { form, giveKey, helpersOf, openEntry, setUpScenario } from './open-helpers.ts';
import { PATIENCE } from './open-playground.ts';
import { seriousProblems } from './serious-problems.ts';

const executablePath = findChromium('test/browser/svc-scenarios.test.ts');
const KEY = 'k'.repeat(32);

function createOrders() {
  const env = new EnvironmentServer({ name: 'orders' });
  env.tool('look', {}, () => 'Order 7');
  env.tool('refund', { args: { id: z.int() } }, () => 'done');
  env.scenario(
    'classify',
    { tools: ['look'], answer: z.object({ kind: z.enum(['late', 'lost']), days: z.int() }) },
    async function* () {
      const answer = yield 'What is wrong with the order?';
      const isRight = answer.kind === 'late' && answer.days === 3;
      return {
        reward: isRight ? 1 : 0.25,
        content: isRight ? 'Right.' : 'Look again.',
        info: { given: answer },
        subscores: [{ name: 'kind', value: answer.kind === 'late' ? 1 : 0 }],
      };
    },
  );
  return env;
}

describe.skipIf(executablePath === undefined)('scenarios on the page of the development helpers', PATIENCE, () => {
  const open = useChromium(executablePath, (message) => message.type() === 'error');

  it('are played with the harness key: prompt and system text, the tools that are allowed, the answer, the reward', async () => {
    const events: string[] = [];
    const url = await serveHttp(createExam(events), { harnessKey: KEY });
    const { page, problems } = await open(helpersOf(url));
    await giveKey(page, KEY);
    await page.getByText('The harness key is right').waitFor();
    const entry = await setUpScenario(page, 'count_to', { target: '2' });
    const prompt = entry.getByRole('region', { name: 'Prompt' });
    await prompt.getByText('Count to 2.').waitFor();
    await prompt.getByText('You count.').waitFor();
    const tools = entry.getByRole('region', { name: 'Tools of the scenario' });
    expect(await tools.locator('code.tool-name').allTextContents()).toEqual(['increment']);
    const increment = await openEntry(tools, 'increment');
    await increment.getByLabel('by').fill('2');
    await increment.getByRole('button', { name: 'Call increment' }).click();
    await increment.getByText('"count": 2').first().waitFor();
    await entry.getByRole('textbox', { name: 'answer' }).fill('done');
    await entry.getByRole('button', { name: 'Submit the answer' }).click();
    const evaluation = entry.getByRole('region', { name: 'Evaluation' });
    await evaluation.locator('.reward').waitFor();
    expect(await evaluation.locator('.reward').textContent()).toBe('1');
    await until(() => events.includes('closed count_to'));
    // Each setup is a session of its own: nothing is left of the first.
    await entry.getByRole('button', { name: 'Set up again' }).click();
    await tools.waitFor();
    const again = await openEntry(tools, 'increment');
    await again.getByRole('button', { name: 'Call increment' }).click();
    await again.getByText('"count": 1').first().waitFor();
    expect(problems).toEqual([]);
    await page.close();
  });

  it('take an answer by its schema, and show subscores and what the evaluation found', async () => {
    const url = await serveHttp(createOrders, { harnessKey: KEY });
    const { page, problems } = await open(helpersOf(url));
    await giveKey(page, KEY);
    const entry = await setUpScenario(page, 'classify');
    const answer = form(entry, 'Answer');
    await answer.getByRole('button', { name: 'Submit the answer' }).click();
    await answer.getByText('This is required.').first().waitFor();
    await answer.getByLabel('kind').selectOption('late');
    await answer.getByLabel('days').fill('4');
    await answer.getByRole('button', { name: 'Submit the answer' }).click();
    const evaluation = entry.getByRole('region', { name: 'Evaluation' });
    await evaluation.getByText('Look again.').waitFor();
    expect(await evaluation.locator('.reward').textContent()).toBe('0.25');
    await evaluation.getByRole('row', { name: /kind/ }).waitFor();
    await evaluation.getByText('"days": 4').waitFor();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      for (const width of [390, 1280]) {
        await page.setViewportSize({ width, height: 900 });
        expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0);
      }
      expect([colorScheme, await seriousProblems(page)]).toEqual([colorScheme, []]);
    }
    expect(problems).toEqual([]);
    await page.close();
  });

  it('say why a setup or an evaluation failed, in the words that a harness gets', async () => {
    const { page } = await open(helpersOf(await serveHttp(createExam(), { harnessKey: KEY })));
    await giveKey(page, KEY);
    const setup = await setUpScenario(page, 'break_setup');
    await setup.getByText(/no database at test\/environment\/server\/exam\.ts:\d+:\d+/).waitFor();
    const evaluation = await setUpScenario(page, 'break_evaluation');
    await evaluation.getByRole('textbox', { name: 'answer' }).fill('x');
    await evaluation.getByRole('button', { name: 'Submit the answer' }).click();
    await evaluation.getByText(/no judge at test\/environment\/server\/exam\.ts:\d+:\d+/).waitFor();
    await page.close();
  });

  it('cannot be set up with a wrong key or without one, and then everything of an agent works', async () => {
    const events: string[] = [];
    const url = await serveHttp(createExam(events), { harnessKey: KEY });
    const { page } = await open(helpersOf(url));
    await giveKey(page, 'wrong');
    await page.getByText('This is not the harness key of this server.').waitFor();
    const entry = await setUpScenario(page, 'count_to', { target: '2' });
    await entry.getByRole('link', { name: 'Needs the harness key' }).waitFor();
    await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute('type'))).toBe('password');
    expect(await page.getByText('Count to 2.').count()).toBe(0);
    const increment = await openEntry(page, 'increment');
    await increment.getByRole('button', { name: 'Call increment' }).click();
    await increment.getByText('"count": 1').first().waitFor();
    expect(await page.locator('body').textContent()).not.toMatch(/vault|exam:\/\/key|grading/);
    await page.close();
  });

  it('the key is in memory alone, goes out in the handshake of a harness alone, and is gone with the page', async () => {
    const url = await serveHttp(createExam(), { harnessKey: KEY });
    const { page } = await open(helpersOf(url));
    const withKey: string[] = [];
    page.on('request', (request) => {
      const sent = [request.url(), JSON.stringify(request.headers()), request.postData() ?? ''].join('\n');
      if (sent.includes(KEY))
        withKey.push(`${new URL(request.url()).pathname} ${JSON.parse(request.postData() ?? '{}').method}`);
    });
    await giveKey(page, KEY);
    await page.getByText('The harness key is right').waitFor();
    await setUpScenario(page, 'count_to', { target: '2' });
    await page.getByText('Count to 2.').waitFor();
    expect(withKey).toEqual(['/mcp initialize', '/mcp initialize']);
    const kept = await page.evaluate(() => [
      document.documentElement.outerHTML,
      JSON.stringify(localStorage),
      JSON.stringify(sessionStorage),
      document.cookie,
      location.href,
    ]);
    expect(kept.join('\n')).not.toContain(KEY);
    await page.reload();
    await page.getByRole('textbox', { name: 'Harness key' }).waitFor();
    expect(await page.getByRole('textbox', { name: 'Harness key' }).inputValue()).toBe('');
    await page.close();
  });

  it('say that they are lost by a reload, after which they are set up again', async () => {
    const lab = createLab();
    const server = await startDev(lab);
    const { page } = await open(helpersOf(server.url));
    await giveKey(page, DEV_KEY);
    const entry = await setUpScenario(page, 'exam');
    await entry.getByRole('region', { name: 'Prompt' }).waitFor();
    lab.change("'v1'", "'v2'");
    await entry.getByText('The environment was reloaded: the scenario "exam" is lost. Set it up again.').waitFor();
    await page.getByText('The environment has changed, and its lists were read again.').waitFor();
    await entry.getByRole('button', { name: 'Set up again' }).click();
    await entry.getByText('is lost').waitFor({ state: 'detached' });
    await entry.getByRole('textbox', { name: 'answer' }).fill('x');
    await entry.getByRole('button', { name: 'Submit the answer' }).click();
    await entry.getByRole('region', { name: 'Evaluation' }).waitFor();
    await page.close();
  });
});

describe.skipIf(executablePath === undefined)(
  'a hostile environment on the page of the development helpers',
  PATIENCE,
  () => {
    const open = useChromium(executablePath, (message) => message.type() === 'error');

    it('gets text on it and nothing else, whatever it says in names, descriptions, schemas and results', async () => {
      const words = plant('words');
      const env = new EnvironmentServer({ name: words, version: words, instructions: words });
      const properties = { [words]: { type: 'string', description: words, enum: [words], default: words } };
      env.tool('t', { title: words, description: words, args: { type: 'object', properties } }, () => words);
      env.resource('a://b', { description: words }, () => words);
      env.prompt('p', { description: words, args: { x: z.string().describe(words) } }, () => words);
      env.scenario(
        's',
        { description: words, system: words, args: { y: z.string().describe(words).default(words) } },
        async function* () {
          yield words;
          return { reward: 0, content: words, info: { [words]: words }, subscores: [{ name: words, value: 0 }] };
        },
      );
      const url = await serveHttp(env, { harnessKey: KEY });
      const { page, problems, hosts } = await open(helpersOf(url));
      page.on('dialog', () => expect.unreachable('A dialog was opened'));
      await giveKey(page, KEY);
      const tool = await openEntry(page.getByRole('region', { name: /^Tools/ }), 't');
      await tool.getByRole('button', { name: 'Call t' }).click();
      await tool.getByText('Answered after').waitFor();
      const resource = await openEntry(page, 'a://b');
      await resource.getByRole('button', { name: 'Read' }).click();
      const prompt = await openEntry(page.getByRole('region', { name: /^Prompts/ }), 'p');
      await prompt.getByRole('textbox', { name: 'x' }).fill('x');
      await prompt.getByRole('button', { name: 'Get p' }).click();
      await prompt.getByRole('region', { name: /Message/ }).waitFor();
      const scenario = await setUpScenario(page, 's');
      await scenario.getByRole('textbox', { name: 'answer' }).fill('x');
      await scenario.getByRole('button', { name: 'Submit the answer' }).click();
      await scenario.getByRole('region', { name: 'Evaluation' }).waitFor();
      const found = await page.evaluate(() => {
        const elements = [...document.body.querySelectorAll('*')];
        return {
          planted: elements.filter(({ localName }) =>
            ['script', 'style', 'iframe', 'base', 'meta', 'b'].includes(localName),
          ).length,
          handlers: elements.flatMap(({ attributes }) => [...attributes]).filter(({ name }) => name.startsWith('on'))
            .length,
          addresses: elements.flatMap((element) =>
            ['href', 'src', 'action'].flatMap((name) => element.getAttribute(name) ?? []),
          ),
          times: (document.body.textContent ?? '').split('<script>alert(1)</script>').length - 1,
        };
      });
      expect(found).toMatchObject({ planted: 0, handlers: 0 });
      expect(found.addresses.filter((address) => !address.startsWith('#'))).toEqual([]);
      expect(found.times).toBeGreaterThan(10);
      expect([problems, [...hosts]]).toEqual([[], [new URL(url).host]]);
      await page.close();
    });
  },
);
