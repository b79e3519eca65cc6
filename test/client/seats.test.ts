import { expect, it } from 'vitest';
import { createServiceClient, type Fetch } from '../../src/client/service-client.ts';
import { COUNT_TO_3, secretOf, sitDown } from '../rollout/seats/seat.ts';
import { startService } from '../service/runs/service.ts';

it('opens a seat, looks at it, ends it by an answer, and says what is refused', async () => {
  const service = await startService();
  const client = createServiceClient({ baseUrl: service.url, apiKey: service.key });
  const seat = await client.seats.create(COUNT_TO_3);
  const agent = await sitDown(seat);
  await agent.callTool({ name: 'increment', arguments: { by: 3 } });
  const looked = await client.seats.get(seat.trace_id);
  expect(looked).toMatchObject({ trace_id: seat.trace_id, prompt: seat.prompt });
  expect(JSON.stringify(looked)).not.toContain(secretOf(seat));
  expect(await client.seats.answer(seat.trace_id, 'done')).toMatchObject({ status: 'completed', reward: 1 });
  await expect(client.seats.answer(seat.trace_id, 'again')).rejects.toMatchObject({ code: 'run_finished' });
  await expect(client.seats.get('0'.repeat(32))).rejects.toMatchObject({ code: 'trace_not_found' });
  await expect(client.seats.create({ ...COUNT_TO_3, model: 'gpt-5-mini' })).rejects.toMatchObject({ param: 'model' });
});

it('makes one seat where the answer to the first request was lost', async () => {
  const service = await startService();
  let requests = 0;
  const losing: Fetch = async (url, init) => {
    const reply = await fetch(url, init);
    if (requests++ > 0) return reply;
    await reply.text();
    throw new TypeError('fetch failed');
  };
  const client = createServiceClient({ baseUrl: service.url, apiKey: service.key, fetch: losing });
  const seat = await client.seats.create(COUNT_TO_3);
  expect(requests).toBe(2);
  expect(await service.countRuns()).toBe(1);
  expect((await (await sitDown(seat)).listTools()).tools.length).toBe(4);
});
