"""Languages: told from a text's letters and words, and the default where there is doubt."""

import gzip
import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyonym.ingest.text.languages import detect, likeliest

DATA = Path(os.environ.get("POLYONYM_TEST_DATA", Path(__file__).parents[3] / "shared" / "data"))
SENTENCES = {
    "en": "The company was founded in the north of the country and employs several thousand people who make ships and engines.",
    "de": "Das Unternehmen wurde im Norden des Landes gegründet und beschäftigt mehrere tausend Menschen, die Schiffe und Motoren bauen.",
    "fr": "L'entreprise a été fondée dans le nord du pays et emploie plusieurs milliers de personnes qui construisent des navires et des moteurs.",
    "es": "La empresa fue fundada en el norte del país y emplea a varios miles de personas que construyen barcos y motores para todo el mundo.",
    "it": "L'azienda è stata fondata nel nord del paese e impiega diverse migliaia di persone che costruiscono navi e motori per tutto il mondo.",
    "pt": "A empresa foi fundada no norte do país e emprega vários milhares de pessoas que constroem navios e motores para todo o mundo.",
    "nl": "Het bedrijf werd opgericht in het noorden van het land en heeft enkele duizenden mensen in dienst die schepen en motoren bouwen.",
    "pl": "Przedsiębiorstwo zostało założone na północy kraju i zatrudnia kilka tysięcy osób, które budują statki i silniki dla całego świata.",
    "ru": "Предприятие было основано на севере страны, и на нём работают несколько тысяч человек, которые строят корабли и двигатели.",
    "uk": "Підприємство було засноване на півночі країни, і на ньому працюють кілька тисяч людей, які будують кораблі та двигуни.",
    "el": "Η εταιρεία ιδρύθηκε στα βόρεια της χώρας και απασχολεί αρκετές χιλιάδες ανθρώπους που κατασκευάζουν πλοία και κινητήρες.",
    "ar": "تأسست الشركة في شمال البلاد ويعمل فيها عدة آلاف من الناس الذين يبنون السفن والمحركات لجميع أنحاء العالم.",
    "he": "החברה נוסדה בצפון הארץ ומעסיקה כמה אלפי אנשים הבונים ספינות ומנועים עבור כל העולם, והיא אחת הגדולות בתחומה.",
    "zh": "该公司成立于中国北部，拥有数千名员工，为世界各地制造船舶和发动机，是该行业最大的企业之一，总部设在北京。",
    "ja": "この会社は国の北部で設立され、数千人の従業員が世界中のために船やエンジンを製造しており、業界最大の企業の一つです。",
    "ko": "이 회사는 나라의 북쪽에 설립되었으며 수천 명의 직원이 전 세계를 위해 배와 엔진을 만들고 있는 업계 최대의 기업이다.",
}  # fmt: skip


@pytest.mark.parametrize("language", SENTENCES)
def test_languages(language: str) -> None:
    text = (SENTENCES[language] + " ") * (1 + 300 // len(SENTENCES[language]))
    assert detect(text, default="xx") == language
    assert likeliest(text) == language


@pytest.mark.parametrize("language", ["de", "ru", "ja"])
def test_a_short_text_has_the_default_language(language: str) -> None:
    assert detect(SENTENCES[language]) == "en"
    assert detect(SENTENCES[language], default="it") == "it"
    assert detect(SENTENCES[language] + " " * 300) == "en"


@pytest.mark.parametrize(
    "text", ["1234567890 " * 50, "... --- " * 80, " \n" * 300, "", "Xq zzkr vlpt wrrk " * 30, "http://x.org/a?b=1 " * 20]
)
def test_what_is_no_language_has_the_default(text: str) -> None:
    assert detect(text, default="en") == "en"


def test_a_text_of_two_languages_has_the_default() -> None:
    halves = SENTENCES["fr"] * 30, SENTENCES["de"] * 30
    assert detect(" ".join(halves), default="en") == "en"
    assert detect(" ".join([halves[0], *halves]), default="en") == "fr"


def test_names_of_another_script_do_not_matter() -> None:
    assert detect("Достоевский. Толстой. " + SENTENCES["en"] * 3, default="xx") == "en"


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=600))
def test_any_text_has_a_language(text: str) -> None:
    language = detect(text)
    assert language.isalpha()
    assert detect(text) == language


@pytest.mark.skipif(not DATA.exists(), reason="the shared data are not here")
def test_real_english_texts() -> None:
    with gzip.open(DATA / "corpora" / "wiki_leads_en.jsonl.gz", "rt", encoding="utf-8") as file:
        texts = [json.loads(line)["text"] for _, line in zip(range(1500), file, strict=False)]
    assert [text[:60] for text in texts if detect(text) != "en"] == []
