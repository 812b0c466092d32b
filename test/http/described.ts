import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { HttpApp } from '../../src/http/http-app.ts';

interface Answer {
  readonly statusCode: number;
  readonly headers: Record<string, unknown>;
  json(): unknown;
}

/** Throws unless an answer is what the API description says of this call and status, with nothing beside it. */
export function createDescriptionCheck(app: HttpApp): (method: string, url: string, answer: Answer) => void {
  const { paths = {} } = app.swagger() as unknown as { paths?: Record<string, Record<string, Operation>> };
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  const compiled = new Map<string, ValidateFunction>();
  return (method, url, answer) => {
    const path = url.split('?')[0] ?? '';
    const found = Object.entries(paths).find(
      ([template, methods]) =>
        methods[method.toLowerCase()] &&
        new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
    );
    const type = String(answer.headers['content-type']).split(';')[0] ?? '';
    const schema = found?.[1][method.toLowerCase()]?.responses[answer.statusCode]?.content?.[type]?.schema;
    const what = `${method} ${path}: ${answer.statusCode} ${type}`;
    if (!schema) throw new Error(`${what} is not in the API description`);
    const check = compiled.get(what) ?? ajv.compile(schema);
    compiled.set(what, check);
    if (!check(answer.json()))
      throw new Error(`${what} is not as described: ${ajv.errorsText(check.errors)}`);
  };
}

interface Operation {
  readonly responses: Record<string, { readonly content?: Record<string, { readonly schema: object }> }>;
}
