import { ApiError, createServiceClient } from 'proctor/client';

/** Runs a scenario, prints the calls of its tools as they happen, and gives the reward. */
export async function runAndWatch(baseUrl: string, apiKey: string, target: number): Promise<number | null> {
  const service = createServiceClient({ baseUrl, apiKey });
  try {
    const { trace_id } = await service.runs.create({
      env_name: 'counter',
      scenario_name: 'count_to',
      scenario_args: { target },
      model: 'proctor/oracle',
    });
    for await (const event of service.traces.events(trace_id)) {
      if (event.type === 'tool.called') console.log(event.name, event.arguments);
    }
    return (await service.traces.get(trace_id)).reward;
  } catch (error) {
    if (error instanceof ApiError && error.code === 'invalid_scenario_args') return null;
    throw error;
  }
}
