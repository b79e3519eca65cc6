import { ApiError, type ErrorCode } from '../contract/errors.ts';

/** Converts an error reply. */
export async function toApiError(response: Response): Promise<ApiError> {
  const { status } = response;
  const headers = Object.fromEntries(response.headers);
  const requestId = response.headers.get('x-request-id');
  const text = await response.text().catch(() => '');
  const error = errorIn(text);
  if (error !== undefined) {
    const { code, message, type, param } = error;
    return new ApiError(code, message, { param, headers }, { status, type, requestId });
  }
  const message = `The service at ${response.url} answered ${status}: ${text.slice(0, 200)}`;
  return new ApiError('unexpected_reply', message, { headers }, { status, type: 'server_error', requestId });
}

interface ReadError {
  /** A newer service may send other codes. */
  readonly code: ErrorCode;
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
}

function errorIn(text: string): ReadError | undefined {
  try {
    const { error } = JSON.parse(text);
    return typeof error?.message === 'string' && typeof error.code === 'string' ? error : undefined;
  } catch {
    return undefined;
  }
}
