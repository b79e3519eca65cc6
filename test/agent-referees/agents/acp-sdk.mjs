// An agent made with the SDK of the Agent Client Protocol, which checks each message of its client by the protocol's own
// schema. It brings its own model, so to say.
import { Readable, Writable } from 'node:stream';
import { agent, methods, ndJsonStream, PROTOCOL_VERSION } from '@agentclientprotocol/sdk';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

let server;

agent({ name: 'sdk' })
  .onRequest(methods.agent.initialize, () => ({
    protocolVersion: PROTOCOL_VERSION,
    agentCapabilities: { mcpCapabilities: { http: true }, promptCapabilities: { image: true } },
  }))
  .onRequest(methods.agent.session.new, ({ params }) => {
    [server] = params.mcpServers;
    return { sessionId: 'one' };
  })
  .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
    const { sessionId } = params;
    const say = (text) =>
      client.notify(methods.client.session.update, {
        sessionId,
        update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } },
      });
    await say('I look at it.');
    const options = [
      { optionId: 'never', kind: 'reject_once', name: 'Never' },
      { optionId: 'once', kind: 'allow_once', name: 'Once' },
    ];
    const toolCall = { toolCallId: 'one', title: 'increment' };
    const granted = await client.request(methods.client.session.requestPermission, { sessionId, toolCall, options });
    await client.notify(methods.client.session.update, {
      sessionId,
      update: { sessionUpdate: 'tool_call', toolCallId: 'one', title: 'increment' },
    });
    const mcp = new Client({ name: 'sdk', version: '1' });
    await mcp.connect(
      new StreamableHTTPClientTransport(new URL(server.url), { requestInit: { headers: toHeaders() } }),
    );
    await mcp.callTool({ name: 'increment', arguments: { by: 3 } });
    await mcp.close();
    await say(`Permitted: ${granted.outcome.optionId}. `);
    await say('The counter shows 3.');
    return { stopReason: 'end_turn' };
  })
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));

function toHeaders() {
  return Object.fromEntries(server.headers.map(({ name, value }) => [name, value]));
}
