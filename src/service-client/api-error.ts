import type { ErrorCode } from '../contract/errors.ts';

/**
 * An error answer of a run service. `connection_failed` (status 0) is a request without an answer, `unexpected_reply` an
 * answer that is not the service's, such as a proxy's.
 */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly code: ErrorCode | 'connection_failed' | 'unexpected_reply';
  readonly type: string;
  /** The request field at fault. */
  readonly param: string | null;
  /** For the log of the service. */
  readonly requestId: string | null;
  /** Seconds after which the service says to try again. */
  readonly retryAfterSeconds: number | null;

  constructor(message: string, details: ApiErrorDetails, options?: ErrorOptions) {
    super(message, options);
    this.status = details.status;
    this.code = details.code;
    this.type = details.type;
    this.param = details.param ?? null;
    this.requestId = details.requestId ?? null;
    this.retryAfterSeconds = details.retryAfterSeconds ?? null;
  }
}

export interface ApiErrorDetails {
  readonly status: number;
  readonly code: ApiError['code'];
  readonly type: string;
  readonly param?: string | null;
  readonly requestId?: string | null;
  readonly retryAfterSeconds?: number | null;
}

export async function toApiError(response: Response): Promise<ApiError> {
  const { status, headers } = response;
  const requestId = headers.get('x-request-id');
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  const retryAfterSeconds = Number.isFinite(seconds) ? seconds : null;
  const text = await response.text().catch(() => '');
  const error = errorIn(text);
  if (error === undefined) {
    const message = `The service at ${response.url} answered ${status}: ${text.slice(0, 200)}`;
    return new ApiError(message, {
      status,
      code: 'unexpected_reply',
      type: 'server_error',
      requestId,
      retryAfterSeconds,
    });
  }
  return new ApiError(error.message, { ...error, status, requestId, retryAfterSeconds });
}

function errorIn(text: string): (Pick<ApiErrorDetails, 'code' | 'type' | 'param'> & { message: string }) | undefined {
  try {
    const { error } = JSON.parse(text);
    // The codes are the service's: a newer one may have more of them.
    return typeof error?.message === 'string' && typeof error.code === 'string' ? error : undefined;
  } catch {
    return undefined;
  }
}
