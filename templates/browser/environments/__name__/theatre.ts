import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Reservation {
  readonly seat: string;
  readonly name: string;
}

export const SEATS = ['A1', 'A2', 'A3', 'B1', 'B2', 'B3'] as const;

/** The site that the agent uses: a page on a free port of this machine, for one session. */
export class Theatre {
  reservations: Reservation[] = [];
  #server: Server | undefined;
  #address = '';

  /** Such as `http://127.0.0.1:40123`. */
  get address(): string {
    return this.#address;
  }

  async open(): Promise<void> {
    const server = createServer((request, response) => {
      const answer = async () => {
        if (request.method === 'POST') this.#reserve(await readForm(request));
        response.setHeader('content-type', 'text/html; charset=utf-8').end(this.#page());
      };
      answer().catch(() => response.writeHead(400).end());
    });
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', resolve);
    });
    this.#address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server?.close();
    this.#server?.closeAllConnections();
  }

  #reserve(form: URLSearchParams): void {
    const name = form.get('name')?.trim() ?? '';
    const seat = form.get('seat') ?? '';
    const isFree = this.reservations.every((reservation) => reservation.seat !== seat);
    if (name !== '' && isFree && SEATS.some((known) => known === seat)) this.reservations.push({ seat, name });
  }

  #page(): string {
    const seats = SEATS.map((seat) => {
      const taken = this.reservations.find((reservation) => reservation.seat === seat);
      const label = taken === undefined ? seat : `${seat} (${toHtml(taken.name)})`;
      return `<label><input type="radio" name="seat" value="${seat}" ${taken ? 'disabled' : ''}> ${label}</label><br>`;
    });
    return `<!doctype html><title>Theatre</title><h1>Reserve a seat</h1>
      <form method="post"><p><label>Name <input name="name" required></label></p>
      <p>${seats.join('\n')}</p><button>Reserve</button></form>`;
  }
}

async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) {
    body += chunk;
    if (body.length > 10_000) throw new Error('The form is too long');
  }
  return new URLSearchParams(body);
}

function toHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
