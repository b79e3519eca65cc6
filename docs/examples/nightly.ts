import { createServiceClient } from 'proctor/client';

const [baseUrl = 'http://127.0.0.1:8320', model = 'proctor/oracle', minReward = '0.9'] = process.argv.slice(2);
const service = createServiceClient({ baseUrl }); // with the key of PROCTOR_API_KEY, or the kept one
const night = new Date().toISOString().slice(0, 10);

const accepted = await Promise.all(
  ['1', '2', '3'].map((task_id) =>
    service.runs.create(
      { env_name: 'retail', scenario_name: 'task', scenario_args: { task_id }, model, metadata: { night } },
      { idempotencyKey: `${night}-${model}-${task_id}` }, // A second try of this night finds the runs of the first.
    ),
  ),
);
const traces = await Promise.all(accepted.map(({ trace_id }) => service.runs.wait(trace_id)));

for (const { reward, status, trace_url } of traces) console.log(`${reward ?? status}  ${trace_url}`);
const mean = traces.reduce((sum, { reward }) => sum + (reward ?? 0), 0) / traces.length;
console.log(`mean reward ${mean}`);
process.exitCode = mean >= Number(minReward) ? 0 : 1;
