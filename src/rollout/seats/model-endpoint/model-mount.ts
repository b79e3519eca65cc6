import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from '../../../contract/errors.ts';
import { toDialectError } from '../../../models/dialects/dialect.ts';
import { DIALECTS } from '../../../models/dialects/dialects.ts';
import { findOperation, type Operation } from '../../../models/dialects/operations.ts';
import { toApiError } from '../../../support/http/api/errors.ts';
import type { Mount } from '../../../support/http/api/route.ts';
import { requestIdOf } from '../../../support/http/listen.ts';
import { sendReply } from '../../../support/http/reply/send-reply.ts';
import type { SeatDoors } from '../seat-mount.ts';
import { isSeatSecret } from '../seat-secret.ts';
import { runFinished } from './model-calls.ts';
import { hasNoModel } from './model-endpoint.ts';
import { MODEL_OPERATIONS } from './model-operations.ts';
import { secretOf } from './request-secret.ts';

/** Path of the model addresses in `/openapi.json`. */
const PATH = '/v1/chat/completions';

/**
 * The model addresses of all seats. They use the paths of the protocols. A path that a route also has, such as `GET
 * /v1/models`, belongs to them only if the request carries a seat secret.
 */
export function createModelMount(doors: SeatDoors): Mount {
  const find = (request: IncomingMessage, path: string): Operation | undefined => {
    const { headers, method = 'GET' } = request;
    const query = new URLSearchParams((request.url ?? '').replace(/^[^?]*\??/, ''));
    // A WebSocket starts with GET, where the protocol has POST.
    const asked = method === 'OPTIONS' || isWebSocket(request) ? 'POST' : method;
    return findOperation(asked, path, { headers, query });
  };
  return {
    path: PATH,
    methods: ['POST', 'GET'],
    hasOwnSecrets: true,
    operations: MODEL_OPERATIONS[PATH] ?? {},
    furtherOperations: Object.fromEntries(Object.entries(MODEL_OPERATIONS).filter(([path]) => path !== PATH)),
    claims(request, path) {
      const operation = find(request, path);
      if (operation === undefined) return false;
      const isOwnPath =
        /^\/v1(?:beta)?\//.test(path) && (operation.kind === 'generate' || operation.kind === 'count_tokens');
      if (isOwnPath) return true;
      const secret = secretOf(request);
      return secret !== undefined && isSeatSecret(secret);
    },
    async handle(request, response) {
      const operation = find(request, (request.url ?? '').split('?')[0] ?? '') ?? OTHER_METHOD;
      if (isWebSocket(request)) return refuse(response, operation, websockets(), 426);
      if (request.method !== 'POST' && operation === OTHER_METHOD) {
        return refuse(
          response,
          operation,
          new ApiError('method_not_allowed', 'This address takes POST.', { headers: { allow: 'POST' } }),
        );
      }
      const secret = secretOf(request);
      const door = doors.find(secret) ?? (await doors.elsewhere?.(request, response, secret));
      if (door === 'answered') return;
      if (door === undefined) return refuse(response, operation, unknownSecret());
      if (door === 'over' || door.isOver) return refuse(response, operation, runFinished());
      if (!door.hasModel) return refuse(response, operation, hasNoModel());
      await door.handleModel(request, response, operation);
    },
    refuse(request, response, thrown) {
      const operation = find(request, (request.url ?? '').split('?')[0] ?? '') ?? OTHER_METHOD;
      refuse(response, operation, toApiError(thrown, requestIdOf(response)));
    },
  };
}

const OTHER_METHOD: Operation = { kind: 'generate', dialect: 'chat' };

function refuse(response: ServerResponse, { dialect }: Operation, error: ApiError, status?: number): void {
  sendReply(response, DIALECTS[dialect].writeError(toDialectError(error, status)));
}

function isWebSocket({ headers }: IncomingMessage): boolean {
  return /\bwebsocket\b/i.test(headers.upgrade ?? '');
}

function websockets(): ApiError {
  return new ApiError('invalid_parameter', 'This address speaks no WebSocket: use POST.', {
    headers: { upgrade: 'HTTP/1.1' },
  });
}

function unknownSecret(): ApiError {
  return new ApiError(
    'invalid_api_key',
    'There is no seat with this key: send its secret as a bearer token, as x-api-key or x-goog-api-key, or before the path (/r/<secret>/…).',
    { headers: { 'www-authenticate': 'Bearer' } },
  );
}
