import { z } from 'zod';
import { apiKeyId } from '../ids.ts';
import { API_ROLES, type ApiKeyConfig } from './config.ts';
import { glob, id, secretKey } from './settings.ts';

export const apiKeySchema: z.ZodType<ApiKeyConfig> = z.strictObject({
  id: id.transform(apiKeyId),
  key: secretKey,
  role: z.enum(API_ROLES),
  agents: z.array(glob).default([]),
  requesters: z.array(glob).default([]),
});
