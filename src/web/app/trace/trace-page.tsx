import { readTraceData } from '../api.ts';
import { JsonTree } from '../components/json-tree.tsx';
import { Loaded } from '../components/states.tsx';
import { usePageTitle } from '../use-page-title.ts';
import { useResource } from '../use-resource.ts';

export function TracePage({ traceId }: { readonly traceId: string }) {
  usePageTitle(traceId);
  const { resource, reload } = useResource((signal) => readTraceData(traceId, 0, signal), [traceId]);
  return (
    <div class="page">
      <Loaded resource={resource} retry={reload}>
        {(value) => <JsonTree value={value} />}
      </Loaded>
    </div>
  );
}
