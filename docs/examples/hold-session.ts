import OpenAI from 'openai';
import type { FinishedSession, Svc } from 'proctor/scenario-server';

const apiKey = process.env.PROCTOR_SCENARIOS_API_KEY ?? 'none';
const client = new OpenAI({ baseURL: 'http://127.0.0.1:8321/v1', apiKey });
const model = 'proctor/oracle';

const start = { scenario: 'count_to', scenario_args: { target: 3 } };
const first = await client.chat.completions.create({
  model,
  messages: [{ role: 'user', content: 'Go.' }],
  ...start,
});
const { session_id, trace_url } = (first as typeof first & { svc: Svc }).svc;
console.log(first.choices[0]?.message.content, trace_url);

const stream = await client.chat.completions.create(
  { model, messages: [{ role: 'user', content: 'Are you sure?' }], stream: true },
  { headers: { 'X-SVC-Session-Id': session_id } },
);
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? '');
console.log();

const result = await client.post<FinishedSession>(`/sessions/${session_id}/finish`);
console.log(result.reward, result.evaluation.content);
