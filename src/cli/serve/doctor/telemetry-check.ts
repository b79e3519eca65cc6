import { connect } from 'node:net';
import { messageOf } from '../../../contract/errors.ts';
import { shownAddress } from '../../base/shown-address.ts';
import { isPackageMissing, PACKAGES_MISSING } from '../../base/telemetry.ts';
import type { Finding } from './finding.ts';

/**
 * Checks whether spans would reach the collector: its packages are installed, and something listens. A problem is
 * never a failure, since spans are optional.
 */
export async function checkTelemetry(collector: string, signal: AbortSignal): Promise<Finding> {
  const warn = (message: string): Finding => ({ name: 'telemetry', status: 'warn', message });
  try {
    await import('../../base/telemetry-sdk.ts');
  } catch (error) {
    if (!isPackageMissing(error)) throw error;
    return warn(PACKAGES_MISSING);
  }
  const address = shownAddress(collector);
  const remedy = 'start the collector, or correct OTEL_EXPORTER_OTLP_ENDPOINT (OTLP over HTTP, port 4318 by default)';
  if (!/^https?:/.test(collector) || !URL.canParse(collector))
    return warn(`${address} is no http(s) address: ${remedy}`);
  try {
    await reach(new URL(collector), signal);
  } catch (error) {
    return warn(`nothing listens at ${address} (${messageOf(error)}), spans are lost: ${remedy}`);
  }
  return { name: 'telemetry', status: 'ok', message: `something listens at ${address}, where spans go` };
}

async function reach({ protocol, hostname, port }: URL, signal: AbortSignal): Promise<void> {
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const socket = connect({ host, port: Number(port || (protocol === 'https:' ? 443 : 80)), signal });
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', () => resolve());
      socket.once('error', reject);
    });
  } finally {
    socket.destroy();
  }
}
