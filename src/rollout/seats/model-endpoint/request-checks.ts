import { ApiError } from '../../../contract/errors.ts';
import type { ProviderToolKind } from '../../../contract/provider-tools.ts';
import type { DialectRequest } from '../../../models/dialects/dialect.ts';

/** Provider tools that a request may use. */
export interface AllowedTools {
  /** Kinds of provider tools that the scenario allows. */
  readonly kinds: readonly string[];
  /** True if the gateway speaks the dialect natively and so understands its provider tools. */
  isSpoken(dialect: DialectRequest['dialect']): boolean;
}

/** @throws ApiError invalid_parameter for provider tools that bypass the environment. */
export function checkProviderTools(request: DialectRequest, { kinds, isSpoken }: AllowedTools): void {
  for (const { kind, type } of request.providerTools) {
    if (kind === null) {
      throw refused(
        `The tool type ${JSON.stringify(type)} is not known here, and could reach past the environment. Leave it out.`,
      );
    }
    check(kind, `The tool ${JSON.stringify(type)}`, 'tools');
  }
  if (request.remoteImages.length > 0) {
    check('web_fetch', 'An image that is only an address', 'messages');
  }

  function check(kind: ProviderToolKind, what: string, param: string): void {
    if (!kinds.includes(kind)) {
      const rule = kinds.length === 0 ? 'it allows none' : `it allows ${kinds.join(', ')}`;
      throw refused(
        `${what} is run by the provider (${kind}), past the environment. The scenario has to name it in \`providerTools\`: ${rule}. Leave it out.`,
        param,
      );
    }
    if (!isSpoken(request.dialect)) {
      throw refused(
        `${what} is run by the provider (${kind}), and the gateway of this run does not speak this protocol (${request.dialect}), so that it cannot get there. Leave it out.`,
        param,
      );
    }
  }
}

function refused(message: string, param = 'tools'): ApiError {
  return new ApiError('invalid_parameter', message, { param });
}
