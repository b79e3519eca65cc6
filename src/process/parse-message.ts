import { type JSONRPCMessage, parseJSONRPCMessage } from '@modelcontextprotocol/client';

/** The message in a line of output; undefined for what is none. */
export function parseMessage(line: string): JSONRPCMessage | undefined {
  try {
    return parseJSONRPCMessage(JSON.parse(line));
  } catch {
    return undefined;
  }
}
