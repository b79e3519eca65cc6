// An agent of LangGraph as a command of Proctor: node langgraph.mjs <mcp url> <prompt>

import { createReactAgent } from '@langchain/langgraph/prebuilt';
import { MultiServerMCPClient } from '@langchain/mcp-adapters';
import { ChatOpenAI } from '@langchain/openai';

const [url, prompt] = process.argv.slice(2);
const client = new MultiServerMCPClient({ mcpServers: { env: { transport: 'http', url } } });
try {
  const tools = await client.getTools();
  // OPENAI_API_KEY is that of its seat.
  const llm = new ChatOpenAI({ model: 'proctor', configuration: { baseURL: process.env.OPENAI_BASE_URL } });
  const agent = createReactAgent({ llm, tools });
  const { messages } = await agent.invoke({ messages: [{ role: 'user', content: prompt }] }, { recursionLimit: 100 });
  console.log(messages.at(-1).content);
} finally {
  await client.close();
}
