import { ApiError } from '../../../contract/errors.ts';
import { assetReply, builtAssets } from '../../../support/http/reply/built-assets.ts';
import { appReply, PAGE_ICON } from '../../../support/http/reply/page-reply.ts';
import { preview } from '../../../support/schema/json-schema.ts';

/**
 * The HTML document of the development helpers (`web/app/helpers`). It contains no data of the environment: the page
 * requests that over MCP.
 *
 * @throws Error if the pages were not built.
 */
export function renderHelperPage(helpersPath: string, mcpPath: string) {
  const { script, stylesheet } = builtAssets('helpers');
  return appReply(
    `<!doctype html>
<html lang="en" data-mcp="${mcpPath.replace(/[&"]/g, (character) => `&#${character.charCodeAt(0)};`)}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Development helpers · Proctor</title>
<link rel="icon" href="${PAGE_ICON}">
<link rel="stylesheet" href="${helpersPath}${stylesheet}">
<script type="module" src="${helpersPath}${script}"></script>
</head>
<body>
<div id="app"></div>
<noscript><p class="noscript">This page needs JavaScript. The same is JSON at ${helpersPath}/tools, /resources, /prompts and /scenarios.</p></noscript>
</body>
</html>
`,
    { media: true },
  );
}

/** A file of the page by its name. @throws ApiError 404; Error if the pages were not built. */
export function readHelperAsset(name: string, acceptEncoding: unknown) {
  const asset = builtAssets('helpers').files.get(name);
  if (asset === undefined) throw new ApiError('unknown_url', `The page at /svc has no file ${preview(name)}`);
  return assetReply(asset, acceptEncoding);
}
