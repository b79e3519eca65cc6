import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createServiceClient } from 'proctor/client';

/** Sits a scenario with an agent of this program, and gives the reward, which the agent never sees. */
export async function sitExam(baseUrl: string, apiKey: string): Promise<number | null> {
  const service = createServiceClient({ baseUrl, apiKey });
  const seat = await service.seats.create({
    env_name: 'counter',
    scenario_name: 'count_to',
    scenario_args: { target: 3 },
  });
  await playSeat(seat.mcp);
  return (await service.runs.wait(seat.trace_id)).reward;
}

/** The agent: it knows the address of its seat and nothing else of Proctor. */
export async function playSeat({ url, headers }: { url: string; headers: Record<string, string> }): Promise<void> {
  const client = new Client({ name: 'my-agent', version: '1.0.0' });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  const { messages } = await client.getPrompt({ name: 'task' });
  const { tools } = await client.listTools();
  console.log(messages, tools.length); // Here your model would decide what to do.
  await client.callTool({ name: 'increment', arguments: { by: 3 } });
  await client.callTool({ name: 'submit_answer', arguments: { answer: 'The counter shows 3.' } });
  await client.close();
}
