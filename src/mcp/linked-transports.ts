import { InMemoryTransport } from '@modelcontextprotocol/server';

/** Two ends of one connection in this process. What crosses is copied as JSON, as on a wire. */
export function createLinkedTransports(): readonly [InMemoryTransport, InMemoryTransport] {
  const [one, other] = InMemoryTransport.createLinkedPair();
  copyMessages(one);
  copyMessages(other);
  return [one, other];
}

function copyMessages(transport: InMemoryTransport): void {
  const send = transport.send.bind(transport);
  transport.send = (message, options) => send(JSON.parse(JSON.stringify(message)), options);
}
