import type { TSchema } from 'typebox';
import { alertsSection } from '../config/schema/alerts.ts';
import { maybe } from '../schema/shapes.ts';

const { webhooks, ...settings } = alertsSection.properties;

/** The settings that can be changed by API. They have the rules of the configuration, and null means its value. */
export const changedSettings = Object.fromEntries(
  Object.entries(settings).map(([name, schema]) => [name, maybe(withoutDefault(schema))]),
) as Record<SettingName, ReturnType<typeof maybe<TSchema>>>;

export type SettingName = keyof typeof settings;
export const settingNames = Object.keys(settings) as SettingName[];

/** The fields of a webhook. */
export const webhookFields = webhooks.items.properties;
export const MAX_WEBHOOKS = 10;

/** A setting that a change leaves out stays as it is. */
function withoutDefault({ default: _, ...schema }: TSchema & { default?: unknown }): TSchema {
  return schema as TSchema;
}
