"""Words that say more of a sentence's form than of its matter, folded as `diffmem.planner.words` folds."""

_STOP_ENGLISH = (
    "a about all also am an and any are as at be been before being both but by can could d did do does doing don "
    "down during each few for from had has have having he her here hers him his how i if in into is it its just "
    "ll m may me might mine must my no nor not of off on once only or our ours out over own re s same shall she "
    "should so some such t than that the their theirs them then there these they this those to too up us ve very "
    "was we were what when where which who whom whose why will with would while because until though you your "
    "yours after again"
)
_STOP_OTHER = (
    # Spanish, Portuguese, French, Italian, German, Dutch: the words that every sentence has.
    "in an so a me no was war die on as we is "
    "el la los las un una unos unas de del y o que en por para con se su sus lo le les es al como mas pero mi tu "
    "yo este esta os um uma das dos em nao na no nas nos ao e ou meu minha eu foi sao tem les des du et est une "
    "dans pour qui sur pas ce cette mon ma mes je il elle nous vous ne au aux avec son sa ses ete il gli che di "
    "da per non sono della dei nel ho ha mio mia ed der die das den dem ein eine einen einem einer und ist im zu "
    "mit auf fur von nicht ich du er sie wir ihr mein meine hat war auch sich bei nach wie aus am es als was wer "
    "wo wann het een van ik je dat niet zijn op te voor met naar heb mijn maar"
)
_ASKING = (
    "kind kinds type types sort many much often long total number amount different various specific particular "
    "current currently recent recently lately now mention mentioned say said tell told ask asked discuss "
    "discussed talk talked think thing things something someone anything happen happened help suggest recommend "
    "suggestion suggestions recommendation advice tip tips like would want need know get got make made take use "
    "used find new good best first last time way"
)
_TIME = (
    "yesterday today tonight tomorrow ago last next day days week weeks weekend month months year years recently just "
    "since soon morning evening night monday tuesday wednesday thursday friday saturday sunday january february march "
    "april may june july august september october november december gestern heute morgen hier demain ayer hoy manana "
    "昨日 今日 明日 先週 来週 昨天 今天 明天 上周 下周 어제 오늘 내일"
)
_FIRST_PERSON = "i me my mine we us our ich mich mein wir je mon nous yo mi eu meu io mio"
_SECOND_PERSON = "you your yours du dich dein ihr tu ton vous votre usted voce seu tuo"

STOP_WORDS = frozenset(_STOP_ENGLISH.split())
STOP_WORDS_OF_OTHERS = frozenset(_STOP_OTHER.split())
ASKING_WORDS = frozenset(_ASKING.split())
TIME_WORDS = frozenset(_TIME.split())
FIRST_PERSON = frozenset(_FIRST_PERSON.split())
SECOND_PERSON = frozenset(_SECOND_PERSON.split())
