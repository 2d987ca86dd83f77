"""The collector for machines: an OpenAPI document of what may be sent and what comes back."""

from __future__ import annotations

from typing import Any

from discreet._version import __version__
from discreet.survey.questionnaire import Questionnaire

_PROBLEM = {
    "content": {
        "application/json": {
            "schema": {"type": "object", "required": ["error"], "properties": {"error": {"type": "string"}}}
        }
    }
}
#: Why a request is refused, by status.
_PROBLEMS = {
    "403": "The code is not known, or the page of this origin may not send here.",
    "400": "The origin is no address, or the request states its length twice.",
    "404": "The id is not one, or no report has it.",
    "409": "The code was used already, or another report has this id.",
    "410": "The survey is closed.",
    "412": "The report belongs to another design of the survey.",
    "413": "The request is too large.",
    "415": "The report is not JSON.",
    "422": "The report does not fit the questions.",
    "425": "The survey is not open yet.",
    "429": "Too many requests under this code, for this receipt, or in all.",
    "507": "The survey has all reports that it takes.",
    "503": "The report could not be stored; send it again.",
}


def openapi(survey: Questionnaire) -> dict[str, Any]:
    """OpenAPI 3.1 for one survey.

    >>> from discreet.survey import TEMPLATE
    >>> sorted(openapi(Questionnaire.parse(TEMPLATE))["paths"])
    ['/manifest.json', '/ready', '/reports/{id}']
    """
    refused = {status: {"description": text, **_PROBLEM} for status, text in _PROBLEMS.items()}
    identity = {
        "name": "id",
        "in": "path",
        "required": True,
        "description": "A random number that the page draws; it is also the receipt.",
        "schema": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": survey.title, "version": __version__},
        "paths": {
            "/reports/{id}": {
                "parameters": [identity],
                "put": {
                    "operationId": "store",
                    "summary": "Store a report; the same bytes under the same id are acknowledged again.",
                    "requestBody": {"required": True, "content": {"application/json": {"schema": _report(survey)}}},
                    "responses": {
                        "201": {"description": "Stored, and on the disk."},
                        "200": {"description": "Was stored before."},
                        **refused,
                    },
                },
                "delete": {
                    "operationId": "withdraw",
                    "summary": "Delete a report while the survey is open.",
                    "responses": {
                        "204": {"description": "Deleted."},
                        **{status: refused[status] for status in ("403", "404", "410", "425", "429", "503")},
                    },
                },
            },
            "/manifest.json": {
                "get": {
                    "operationId": "manifest",
                    "summary": "What is asked, promised and drawn, and the digest of the page.",
                    "responses": {
                        "200": {
                            "description": "The manifest of the survey.",
                            "content": {"application/json": {"schema": {"type": "object"}}},
                        }
                    },
                }
            },
            "/ready": {
                "get": {"operationId": "ready", "summary": "Nothing.", "responses": {"204": {"description": "Here."}}}
            },
        },
    }


def _report(survey: Questionnaire) -> dict[str, Any]:
    properties: dict[str, Any] = {
        "design": {"const": survey.design, "description": "SHA-256 of what is asked and how it is randomised."},
        "report": {
            "type": "string",
            "pattern": f"^[0-9]{{{survey.length}}}$",
            "description": "One code of fixed width for every answer, in order.",
        },
    }
    if survey.invited:
        properties["code"] = {"type": "string", "pattern": "^[0-9A-Z]{20}$"}
    return {"type": "object", "required": list(properties), "properties": properties, "additionalProperties": False}
