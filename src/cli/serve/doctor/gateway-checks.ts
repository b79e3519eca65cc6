import { messageOf } from '../../../contract/errors.ts';
import { isJsonObject } from '../../../contract/json.ts';
import { gatewayFetch } from '../../../models/gateway/gateway-fetch.ts';
import { cleanGatewayText } from '../../../models/gateway-text.ts';
import type { Settings } from '../../../service/config/settings.ts';
import { countText } from '../../../support/text/figures.ts';
import { shownAddress } from '../../base/shown-address.ts';
import type { Finding } from './finding.ts';

/** A gateway, and the settings to change if it does not work. */
export interface NamedGateway {
  /** `gateway`, or `gateway claude-*` for a configured one. */
  readonly name: string;
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  /** Names of the settings of its address and key, such as `PROCTOR_GATEWAY_URL`. */
  readonly urlFrom: string;
  readonly keyFrom: string;
}

const LIMIT_MS = 10_000;

type Variables = Readonly<Record<string, string | undefined>>;

/** The gateways of an installation, those of its configuration first. */
export function gatewaysOf({ models }: Pick<Settings, 'models'>, variables: Variables): readonly NamedGateway[] {
  const configured = (models.gateways ?? []).map(({ pattern, baseUrl, apiKey }) => ({
    name: `gateway ${pattern}`,
    baseUrl,
    apiKey,
    urlFrom: `gateways[${JSON.stringify(pattern)}].url of proctor.config.ts`,
    keyFrom: `gateways[${JSON.stringify(pattern)}].apiKey of proctor.config.ts`,
  }));
  if (models.gatewayUrl === undefined) return configured;
  const isSet = (name: string) => (variables[name]?.trim() ?? '') !== '';
  const ofProctor = isSet('PROCTOR_GATEWAY_URL') || !isSet('OPENAI_API_KEY');
  const fromVariables = {
    name: 'gateway',
    baseUrl: models.gatewayUrl,
    apiKey: models.gatewayApiKey,
    urlFrom: isSet('PROCTOR_GATEWAY_URL') || !isSet('OPENAI_BASE_URL') ? 'PROCTOR_GATEWAY_URL' : 'OPENAI_BASE_URL',
    keyFrom:
      ofProctor && (isSet('PROCTOR_GATEWAY_API_KEY') || !isSet('OPENAI_API_KEY'))
        ? 'PROCTOR_GATEWAY_API_KEY'
        : 'OPENAI_API_KEY',
  };
  return [...configured, fromVariables];
}

export const NO_GATEWAY: Finding = {
  name: 'gateway',
  status: 'warn',
  message:
    'none: only the reference models (proctor/oracle, proctor/noop, ...) can play; set PROCTOR_GATEWAY_URL for others',
};

/** Requests the model list of a gateway with its key. Never rejects. */
export async function checkGateway(gateway: NamedGateway, limitMs: number = LIMIT_MS): Promise<Finding> {
  const signal = AbortSignal.timeout(limitMs);
  const { name, baseUrl, apiKey, urlFrom, keyFrom } = gateway;
  const address = shownAddress(baseUrl);
  const startedAt = performance.now();
  const headers = {
    accept: 'application/json',
    ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
  };
  const found = (status: Finding['status'], message: string, facts: Finding['facts'] = {}): Finding => {
    const latency_ms = Math.round(performance.now() - startedAt);
    return { name, status, message: `${address} ${message}`, facts: { address, latency_ms, ...facts } };
  };
  let reply: Response;
  let text: string;
  try {
    reply = await gatewayFetch(`${baseUrl.replace(/\/+$/, '')}/models`, { headers, signal });
    text = await reply.text();
  } catch (error) {
    if (signal.aborted) return found('fail', `gives no answer within ${limitMs / 1_000} s. Check ${urlFrom}`);
    return found('fail', `cannot be reached: ${clean(messageOf(error), apiKey)}. Check ${urlFrom}`);
  }
  const latency = `in ${Math.round(performance.now() - startedAt)} ms`;
  const facts = { http_status: reply.status };
  if (reply.status === 401 || reply.status === 403) {
    const problem = apiKey === undefined ? 'asks for a key' : 'refuses the key';
    return found('fail', `${problem} (HTTP ${reply.status}): set ${keyFrom}`, facts);
  }
  if (reply.status === 404 || reply.status === 405) {
    const remedy = baseUrl.includes('/v') ? `Some have none; otherwise check ${urlFrom}` : `Add /v1 to ${urlFrom}`;
    return found('warn', `answers, but lists no models at /models (HTTP ${reply.status}). ${remedy}`, facts);
  }
  if (!reply.ok) {
    return found('fail', `answered HTTP ${reply.status} ${latency}: ${clean(text, apiKey)}. Check ${urlFrom}`, facts);
  }
  const models = countModels(text);
  if (models !== undefined) return found('ok', `lists ${countText(models, 'model')} ${latency}`, { ...facts, models });
  return found('warn', `answered ${latency} with something that is no list of models. Check ${urlFrom}`, facts);
}

function countModels(text: string): number | undefined {
  try {
    const body: unknown = JSON.parse(text);
    return isJsonObject(body) && Array.isArray(body.data) ? body.data.length : undefined;
  } catch {
    return undefined;
  }
}

function clean(text: string, apiKey: string | undefined): string {
  return cleanGatewayText(text, apiKey === undefined ? [] : [apiKey])
    .slice(0, 200)
    .replace(/\.$/, '');
}
