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
              {data.map(({ name, version, description, ...rest }) => (
                <li key={name}>
                  <a class="card-block" href={`/environments/${encodeURIComponent(name)}`}>
                    <h2>
                      {name} <span class="quiet version">{version}</span>
                    </h2>
                    {description === '' ? null : <p class="quiet">{description}</p>}
                    {rest.state === 'failed' ? <p class="bad-text">Cannot be started. {rest.reason}</p> : null}
                    {rest.state === 'ready'
                      ? rest.warnings.map((warning) => (
                          <p key={warning} class="bad-text">
                            {warning}
                          </p>
                        ))
                      : null}
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
