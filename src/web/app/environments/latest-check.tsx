import { formatTime } from '../../format.ts';
import { service } from '../api.ts';
import { Counts } from '../checks/finding-counts.tsx';
import { useResource } from '../use-resource.ts';

/** The newest report of a check of an environment. The page is complete without. */
export function LatestCheck({ name }: { readonly name: string }) {
  const { resource } = useResource((signal) => service.checks.list({ env_name: name, limit: 1 }, { signal }), [name]);
  if (resource.state !== 'ready') return <p class="latest-check" />;
  const [check] = resource.value.data;
  const checked = check?.environments.find((environment) => environment.name === name);
  if (check === undefined || checked === undefined) {
    return (
      <p class="latest-check quiet">
        Its rewards were not checked yet: <code>{`npx proctor check ${name}`}</code>
      </p>
    );
  }
  return (
    <p class="latest-check">
      <a href={`/checks/${check.check_id}`}>Latest check</a> <Counts counts={checked.counts} />{' '}
      <span class="quiet">{`${formatTime(check.created_at)} UTC`}</span>
    </p>
  );
}
