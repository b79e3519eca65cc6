// An agent of the OpenAI Agents SDK as a command of Proctor: node agents-sdk.mjs <mcp url> <prompt>
import { Agent, MCPServerStreamableHttp, OpenAIResponsesModel, run, setTracingDisabled } from '@openai/agents';
import OpenAI from 'openai';

const [url, prompt] = process.argv.slice(2);
setTracingDisabled(true);
const server = new MCPServerStreamableHttp({ name: 'env', url });
await server.connect();
try {
  const agent = new Agent({
    name: 'examinee',
    instructions: 'Solve the task with your tools.',
    // OPENAI_BASE_URL and OPENAI_API_KEY are those of its seat.
    model: new OpenAIResponsesModel(new OpenAI(), 'proctor'),
    mcpServers: [server],
  });
  const result = await run(agent, prompt, { maxTurns: 50 });
  console.log(result.finalOutput);
} finally {
  await server.close();
}
