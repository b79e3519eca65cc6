import type { ComponentChildren } from 'preact';
import { useResource } from '../use-resource.ts';
import { Loaded } from './states.tsx';

/** A part whose script is loaded when it is needed. One that is not there any more is that of an older server. */
export function Later<Module>({
  load,
  meanwhile,
  children,
}: {
  load(): Promise<Module>;
  /** Shown until it is there. Default: that it loads. */
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
