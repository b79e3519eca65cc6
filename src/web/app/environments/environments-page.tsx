import { service } from '../api.ts';
import { Empty, Loaded } from '../components/states.tsx';
import { usePageTitle } from '../use-page-title.ts';
import { useResource } from '../use-resource.ts';

/** The environments of this server. */
export function EnvironmentsPage() {
  usePageTitle('Environments');
  const { resource, reload } = useResource((signal) => service.environments.list({ signal }), []);
  return (
    <div class="page">
      <h1>Environments</h1>
      <Loaded resource={resource} retry={reload}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title="No environments">
              <p class="quiet">This server found none. A new one is made by</p>
              <pre class="text mono">npx proctor init my-environment</pre>
            </Empty>
          ) : (
            <ul class="environment-list">
              {data.map(({ name, version, description }) => (
                <li key={name}>
                  <a class="card-block" href={`/environments/${encodeURIComponent(name)}`}>
                    <h2>
                      {name} <span class="quiet version">{version}</span>
                    </h2>
                    {/* Without a version the description is the reason why it cannot be started. */}
                    {description === '' ? null : <p class={version === '' ? 'bad-text' : 'quiet'}>{description}</p>}
                  </a>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </div>
  );
}
