import { z } from 'zod';
import type { ModelConfig } from './config.ts';
import { flag, httpUrl, text } from './settings.ts';

export const modelSchema: z.ZodType<ModelConfig> = z.strictObject({
  baseUrl: httpUrl,
  apiKey: text,
  model: text.max(200),
  stream: flag.default(true),
});
