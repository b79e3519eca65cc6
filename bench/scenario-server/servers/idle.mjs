// A server with nothing else to do: what a request takes on this machine at this moment.
import { createServer } from 'node:http';

const server = createServer((_request, response) => response.end('{"status":"ok"}'));
server.listen(0, '127.0.0.1', () => process.send?.({ url: `http://127.0.0.1:${server.address().port}` }));
process.once('SIGTERM', () => process.exit(0));
