import { type JSONRPCMessage, parseJSONRPCMessage } from '@modelcontextprotocol/client';

/** The message in a line of output. Undefined if the line is not a message. */
export function parseMessage(line: string): JSONRPCMessage | undefined {
  try {
    return parseJSONRPCMessage(JSON.parse(line));
  } catch {
    return undefined;
  }
}
