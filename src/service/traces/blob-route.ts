import { ApiError } from '../../contract/errors.ts';
import type { TraceStore } from '../../store/traces/trace-store.ts';
import { accountOf } from '../../support/http/api/api-keys.ts';
import { defineRoute, type Route } from '../../support/http/api/route.ts';
import type { TraceAccess } from './traces-route.ts';

export interface BlobRouteOptions {
  readonly store: TraceStore;
  readonly access: TraceAccess;
}

/** `GET /v1/blobs/{sha256}`: content that a trace of the caller's account refers to. */
export function createBlobRoute({ store, access }: BlobRouteOptions): Route {
  return defineRoute({
    method: 'GET',
    path: '/v1/blobs/:sha256',
    summary: 'Bytes that a trace refers to as svc-blob://sha256/<hex>',
    access,
    about: { contentType: 'application/octet-stream', errors: ['blob_not_found'] },
    async handle({ params, caller }) {
      const sha256 = params.sha256 ?? '';
      const blob = /^[0-9a-f]{64}$/.test(sha256) ? await store.blob(sha256, accountOf(caller)) : undefined;
      if (blob === undefined) {
        throw new ApiError('blob_not_found', `There is no blob ${JSON.stringify(sha256.slice(0, 100))}.`);
      }
      return {
        headers: {
          'content-type': /^[\w.+-]+\/[\w.+-]+$/.test(blob.mimeType) ? blob.mimeType : 'application/octet-stream',
          'cache-control': 'private, max-age=31536000, immutable',
          // The environment chose type and content, so a browser must not run them as a page of this server.
          'content-security-policy': "default-src 'none'; sandbox",
        },
        body: blob.bytes,
      };
    },
  });
}
