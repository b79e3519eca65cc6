import type { ComponentChildren } from 'preact';
import { useResource } from '../use-resource.ts';
import { Loaded } from './states.tsx';

/** A component whose script is loaded on demand. If loading fails, the page may come from an older server. */
export function Later<Module>({
  load,
  meanwhile,
  children,
}: {
  load(): Promise<Module>;
  /** Shown while the script loads. Default: a loading message. */
  readonly meanwhile?: ComponentChildren;
  readonly children: (module: Module) => ComponentChildren;
}) {
  const { resource } = useResource(load, []);
  if (resource.state === 'loading' && meanwhile !== undefined) return <>{meanwhile}</>;
  return (
    <Loaded resource={resource} retry={() => location.reload()}>
      {children}
    </Loaded>
  );
}
